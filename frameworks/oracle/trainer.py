"""A training step in NumPy, in small methods, so that a mistake can replace one of them."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from frameworks.contract import SETTINGS, Setting, Trainer
from frameworks.oracle.losses import LOSSES, Loss
from frameworks.oracle.network import OPERATIONS, Back, Operation
from frameworks.oracle.optimisers import UPDATES, State, Update
from frameworks.workloads import Stage, Weights, Workload

Array = np.ndarray
Batch = tuple[Array, Array]


class OracleTrainer(Trainer):
    operations: ClassVar[Mapping[str, Operation]] = OPERATIONS
    losses: ClassVar[Mapping[str, Loss]] = LOSSES
    updates: ClassVar[Mapping[str, Update]] = UPDATES
    precision: ClassVar[Any] = np.float64

    def __init__(self, workload: Workload, weights: Weights) -> None:
        self.workload = workload
        self.restart(weights)

    def restart(self, weights: Weights) -> None:
        self.load(weights)
        self.forget()

    def load(self, weights: Weights) -> None:
        self.parameters = {n: np.array(w, self.precision) for n, w in weights.items()}

    def forget(self) -> None:
        """Set the optimiser's state to zero."""
        self.states = {name: State(w) for name, w in self.parameters.items()}

    def put(self, inputs: Array, targets: Array) -> Batch:
        labels = self.workload.loss == "sparse_cross_entropy"
        return inputs.astype(self.precision), targets.astype(np.int64 if labels else self.precision)

    def step(self, batch: Batch) -> None:
        self.last, gradients = self.differentiate(*batch)
        self.apply(gradients)

    def differentiate(self, inputs: Array, targets: Array) -> tuple[float, Weights]:
        """The loss of a mini-batch and its gradient along every parameter."""
        x, backs = self.forward(inputs)
        loss, slope = self.losses[self.workload.loss](x, targets)
        gradients: Weights = {}
        for stage, back in zip(reversed(self.workload.stages), reversed(backs), strict=True):
            slope, *parts = back(slope)
            gradients |= dict(zip(self.names(stage), parts, strict=True))
        return loss, {name: gradients[name] for name in self.parameters}

    def forward(self, x: Array) -> tuple[Array, list[Back]]:
        """The network's outputs, and each layer's function for its gradients."""
        backs = []
        for stage in self.workload.stages:
            own = [self.parameters[name] for name in self.names(stage)]
            x, back = self.operations[stage.layer.kind](stage.layer, x, *own)
            backs.append(back)
        return x, backs

    def names(self, stage: Stage) -> list[str]:
        return [f"{stage.name}.{n}" for n in stage.layer.parameter_shapes(stage.input_shape)]

    def apply(self, gradients: Weights) -> None:
        for name, gradient in gradients.items():
            self.parameters[name] = self.parameters[name] - self.update(name, gradient)

    def update(self, name: str, gradient: Array) -> Array:
        """What to subtract from a parameter."""
        optimiser, state = self.workload.optimiser, self.states[name]
        state.t += 1
        return self.updates[optimiser.kind](optimiser, state, gradient)

    def synchronise(self) -> None:
        """Does nothing: NumPy has finished when a call returns."""

    def loss(self) -> float:
        return float(self.last)

    def weights(self) -> Weights:
        return {name: w.copy() for name, w in self.parameters.items()}

    def settings(self) -> dict[str, Setting]:
        precision = np.dtype(self.precision).name
        return {**dict.fromkeys(SETTINGS, "n/a"), "precision": precision}

"""The losses, and a training step in small methods, so that a mistake can replace one of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from frameworks.contract import SETTINGS, Setting, Trainer
from frameworks.oracle.network import OPERATIONS, RUNNING, Operation, Running, multiplied_out
from frameworks.oracle.optimisers import UPDATES, State, Update
from frameworks.workloads import Stage, Weights, Workload

Array = np.ndarray
Batch = tuple[Array, Array]
# From the gradient along a chain's output, that along its input and those along its parameters.
Backward = Callable[[Array], tuple[Array, Weights]]
# From outputs `(batch, outputs)` or `(batch, time, outputs)` and targets, the loss and its gradient
# along the outputs.
Loss = Callable[[Array, Array], tuple[float, Array]]


def mean_squared_error(outputs: Array, targets: Array) -> tuple[float, Array]:
    errors = outputs - targets
    return float(np.mean(errors**2)), 2 * errors / errors.size


def sparse_cross_entropy(outputs: Array, targets: Array) -> tuple[float, Array]:
    """Outputs are logits, targets are labels `(batch,)` or `(batch, time)`."""
    logarithms = log_softmax(outputs)
    wanted = (*np.indices(targets.shape), targets)
    slope = np.exp(logarithms)
    slope[wanted] -= 1
    return float(-np.mean(logarithms[wanted])), slope / outputs.dtype.type(targets.size)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


LOSSES: dict[str, Loss] = {
    "mean_squared_error": mean_squared_error,
    "sparse_cross_entropy": sparse_cross_entropy,
}


class OracleTrainer(Trainer):
    operations: ClassVar[Mapping[str, Operation]] = OPERATIONS
    running: ClassVar[Mapping[str, Running]] = RUNNING
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
        given = {n: np.array(w, self.precision) for n, w in weights.items()}
        kept = self.workload.state_shapes
        self.parameters = {n: w for n, w in given.items() if n not in kept}
        self.statistics = {n: w for n, w in given.items() if n in kept}  # state of layers

    def forget(self) -> None:
        """Set the optimiser's state to zero."""
        self.states = {name: State(w) for name, w in self.parameters.items()}

    def put(self, inputs: Array, targets: Array) -> Batch:
        words = self.workload.dataset.words
        labels = self.workload.loss == "sparse_cross_entropy"
        return (
            inputs.astype(np.int64 if words else self.precision),
            targets.astype(np.int64 if labels else self.precision),
        )

    def step(self, batch: Batch) -> None:
        self.last, gradients = self.differentiate(*batch)
        self.statistics = self.statistics | self.moved
        self.apply(gradients)

    def differentiate(self, inputs: Array, targets: Array) -> tuple[float, Weights]:
        """The loss of a mini-batch and its gradient along every parameter."""
        x, back = self.forward(inputs)
        loss, slope = self.losses[self.workload.loss](x, targets)
        _, gradients = back(slope)
        return loss, {name: gradients[name] for name in self.parameters}

    def forward(self, x: Array) -> tuple[Array, Backward]:
        """The network's outputs. `moved` holds the layers' state after them."""
        self.moved: Weights = {}
        return self.chain(self.workload.stages, x)

    def chain(self, stages: Sequence[Stage], x: Array, inside: str = "") -> tuple[Array, Backward]:
        """One layer after the other; `inside` is how their names begin."""
        backs = []
        for stage in stages:
            name = f"{inside}{stage.name}."
            x, back = (self.added if stage.paths else self.single)(stage, x, name)
            backs.append(back)

        def all_back(s: Array) -> tuple[Array, Weights]:
            gradients: Weights = {}
            for back in reversed(backs):
                s, own = back(s)
                gradients |= own
            return s, gradients

        return x, all_back

    def added(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        """The sum of a layer's two paths."""
        (y, back), (z, beside) = (self.chain(path, x, name) for path in stage.paths)

        def both(s: Array) -> tuple[Array, Weights]:
            (slope, gradients), (other, more) = back(s), beside(s)
            return slope + other, gradients | more

        return y + z, both

    def single(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        """A layer that holds no others."""
        names, kept = (
            [name + short for short in shapes(stage.input_shape)]
            for shapes in (stage.layer.parameter_shapes, stage.layer.state_shapes)
        )
        kind, state = stage.layer.kind, [self.statistics[n] for n in kept]
        if kept:
            after = self.running[kind](stage.layer, x, *state)
            self.moved |= dict(zip(kept, after, strict=True))
        own = [self.parameters[n] for n in names]
        y, back = self.operations[kind](stage.layer, x, *own, *state)

        def named(s: Array) -> tuple[Array, Weights]:
            slope, *parts = back(s)
            return slope, dict(zip(names, parts, strict=True))

        return y, named

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
        return {name: w.copy() for name, w in {**self.parameters, **self.statistics}.items()}

    def settings(self) -> dict[str, Setting]:
        precision = np.dtype(self.precision).name
        return {**dict.fromkeys(SETTINGS, "n/a"), "precision": precision}


class Float32OracleTrainer(OracleTrainer):
    """The oracle in float32: how close float32 comes to float64 without any framework."""

    precision = np.float32


class MultipliedOut(Float32OracleTrainer):
    """The same, with batch normalisation as frameworks compute it."""

    operations: ClassVar[Mapping[str, Operation]] = {**OPERATIONS, "batch_norm": multiplied_out}

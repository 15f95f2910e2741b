"""A recorded run: a miniature is trained step by step, and every loss and weight is kept.

A worker records an adapter. The coordinator records the oracle and its mistakes, from the same
arrays.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from frameworks.contract import Trainer, Unavailable
from frameworks.workloads import Weights, Workload, initial_weights
from frameworks.workloads.optimisers import SGD
from frameworks.workloads.smaller import batches
from workflows.worker.border import as_weights, supported
from workflows.worker.training import gradient, one_step

STEPS = 12
AGAIN = 3  # steps that are repeated after a restart
SEED = 1
STEEP = SGD(2.0**20)  # after one step, the weights are hardly more than the gradient


@dataclass(frozen=True)
class Script:
    """What a run trains: a workload, its initial weights and its mini-batches."""

    workload: Workload
    weights: Weights
    batches: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def draw(cls, workload: Workload) -> Self:
        drawn = batches(workload, SEED, STEPS)
        return cls(workload, initial_weights(workload, SEED), list(drawn))

    def save(self, path: Path) -> None:
        inputs, targets = (np.stack(arrays) for arrays in zip(*self.batches, strict=True))
        np.savez(path, inputs=inputs, targets=targets, **self.weights)  # type: ignore[arg-type]

    @classmethod
    def read(cls, workload: Workload, path: Path) -> Self:
        with np.load(path) as stored:
            weights = {name: stored[name] for name in workload.tensor_shapes}
            pairs = list(zip(stored["inputs"], stored["targets"], strict=True))
        return cls(workload, weights, pairs)


class Moment(NamedTuple):
    """A step's loss, and the weights after it. Before the first step the loss is 0."""

    loss: float
    weights: Weights


@dataclass(frozen=True)
class RecordedRun:
    """`moments` before the first step, after each of `STEPS` steps, and after each of the `AGAIN`
    steps that follow a restart. `gradients` of the first step; empty without plain SGD."""

    moments: list[Moment]
    gradients: Weights

    def save(self, path: Path) -> None:
        arrays = {
            f"{number}/{name}": weight
            for number, moment in enumerate(self.moments)
            for name, weight in moment.weights.items()
        } | {f"gradient/{name}": gradient for name, gradient in self.gradients.items()}
        losses = np.array([moment.loss for moment in self.moments])
        np.savez(path, losses=losses, **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> Self:
        with np.load(path) as stored:
            parts: dict[str, Weights] = {}
            for key in stored.files:
                group, _, name = key.partition("/")
                if name:
                    parts.setdefault(group, {})[name] = stored[key]
            losses = stored["losses"].tolist()
        moments = [Moment(loss, parts.get(str(n), {})) for n, loss in enumerate(losses)]
        return cls(moments, parts.get("gradient", {}))


def perform(make: Callable[[Workload, Weights], Trainer], script: Script) -> RecordedRun:
    """The recorded run of the trainers that `make` builds."""
    seen = list(moments(make(script.workload, script.weights), script))
    gradients: Weights = {}
    with suppress(NotImplementedError, Unavailable):  # the adapter does not support plain SGD
        steep = replace(script.workload, optimiser=STEEP)
        trainer = make(steep, script.weights)
        before = as_weights(trainer.weights(), script.weights)
        after = take(trainer, *script.batches[0], script.weights).weights
        trained = {n: w for n, w in after.items() if n not in steep.without_gradient}
        gradients = gradient(before, trained, STEEP.learning_rate)
    return RecordedRun(seen, gradients)


def moments(trainer: Trainer, script: Script) -> Iterator[Moment]:
    given = script.weights
    with supported():
        yield Moment(0.0, as_weights(trainer.weights(), given))
        for batch in script.batches:
            yield take(trainer, *batch, given)
        trainer.restart(given)
        for batch in script.batches[:AGAIN]:
            yield take(trainer, *batch, given)


def take(trainer: Trainer, inputs: np.ndarray, targets: np.ndarray, given: Weights) -> Moment:
    loss = one_step(trainer, (inputs, targets), useless=0)  # a mistake reads zeros, too
    return Moment(loss, as_weights(trainer.weights(), given))

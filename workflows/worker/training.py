"""Training for certificates, which is not timed."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frameworks.contract import Trainer
from frameworks.workloads import Weights
from workflows.worker.border import as_loss, as_weights, supported

TABLE = ".table"  # the end of the name of an embedding's weights
SAMPLED, LEAST, IN_ALL = 64, 8, 2048  # numbers of a tensor at most and at least, and of all

Batch = tuple[np.ndarray, np.ndarray]
BatchGetter = Callable[[int], Batch]


class Trained(NamedTuple):
    """What a training run showed.

    `losses` by step; `weights` by the step after which they were read (0: before the first);
    `again`, the losses of the steps repeated after a restart. `strange` names a tensor that was
    not as given before the first step, `changed` a tensor whose array changed after `weights()`
    had returned it; both are "" for none.
    """

    losses: list[float]
    weights: dict[int, Weights]
    again: list[float]
    strange: str
    changed: str


@supported()
def train(
    trainer: Trainer,
    batches: BatchGetter,
    initial: Weights,
    steps: int,
    at: list[int],
    restart: int,
) -> Trained:
    """Take `steps` steps, restart, and repeat the first `restart` steps."""
    given = as_weights(trainer.weights(), initial)
    kept = {0: {name: array.copy() for name, array in given.items()}}
    losses = []
    for step in range(1, steps + 1):
        losses.append(one_step(trainer, batches(step - 1)))
        if step in at:
            kept[step] = as_weights(trainer.weights(), initial)
    changed = different(given, kept[0])
    if restart:
        trainer.restart(initial)
    again = [one_step(trainer, batches(step)) for step in range(restart)]
    strange = different(kept[0], initial)
    return Trained(losses, {step: kept[step] for step in at}, again, strange, changed)


def different(weights: Weights, others: Weights) -> str:
    """A tensor that is not the same in both to the last bit, "" if there is none."""
    for name, own in weights.items():
        other = others[name].astype(own.dtype) if name in others else None
        if other is None or not np.array_equal(own, other, equal_nan=True):
            return name
    return ""


@supported()
def unread(trainer: Trainer, batches: BatchGetter, initial: Weights, steps: int) -> bool | None:
    """Whether steps that nobody waits for end with the same last loss and weights, to the last bit,
    as a run whose every loss is read. None if two runs of the latter kind differ."""
    ends = []
    for waits in (True, True, False):
        trainer.restart(initial)
        for step in range(steps):
            if waits:
                one_step(trainer, batches(step))
            else:
                trainer.step(trainer.put(*(array.copy() for array in batches(step))))
        ends.append((as_loss(trainer.loss()), as_weights(trainer.weights(), initial)))
    (loss, weights), *others = ends
    again, alike = (loss == own and not different(weights, end) for own, end in others)
    return alike if again else None


@supported()
def one_step(trainer: Trainer, batch: Batch, useless: float = np.nan) -> float:
    """The loss of one step.

    The contract lets the caller reuse its arrays after `put`, so they are overwritten here.
    """
    inputs, targets = (array.copy() for array in batch)
    given = trainer.put(inputs, targets)
    trainer.synchronise()
    if not all(map(np.array_equal, (inputs, targets), batch)):
        raise ValueError("put() has changed the arrays that it was given")
    overwrite(inputs, targets, useless)
    trainer.step(given)
    trainer.synchronise()
    return as_loss(trainer.loss())


def overwrite(inputs: np.ndarray, targets: np.ndarray, useless: float = np.nan) -> None:
    """Fill the arrays of a transferred mini-batch with `useless`, or with 0 if they hold whole
    numbers, so that an adapter that still reads them cannot agree."""
    for array in (inputs, targets):
        array.fill(0 if array.dtype.kind == "i" else useless)


@supported()
def gradients(trainer: Trainer, batch: Batch, initial: Weights, rate: float) -> tuple[Weights, str]:
    """The first step's gradient of each tensor, from a step of plain SGD with this learning rate;
    and a tensor that was not as given before the step, "" for none."""
    strange = different(as_weights(trainer.weights(), initial), initial)
    one_step(trainer, batch)
    return gradient(initial, as_weights(trainer.weights(), initial), rate), strange


def given_gradients(trainer: Trainer, batch: Batch, initial: Weights) -> tuple[Weights, str]:
    """The same of a trainer that gives the gradients itself and takes no step."""
    strange = different(as_weights(trainer.weights(), initial), initial)
    one_step(trainer, batch)
    return as_weights(trainer.gradients(), initial, "gradients()"), strange


def gradient(before: Weights, after: Weights, rate: float) -> Weights:
    """What a step of plain SGD has subtracted, divided by its learning rate, in float64."""
    return {
        n: (before[n].astype(np.float64) - w.astype(np.float64)) / rate for n, w in after.items()
    }


def compared_round(seed: int, workload: str, rounds: int) -> int:
    """The round after whose turns weights are compared. It is drawn, so that nobody knows a turn
    that is not compared."""
    return random.Random(f"{seed} {workload}").randint(1, rounds)


def sample(weights: Weights, inputs: np.ndarray | None = None) -> dict[str, list[float]]:
    """A few numbers of every tensor, from the same places in every run: fewer if there are many
    tensors, because a deep network's would be most of the study's records. An embedding's table is
    sampled at words in `inputs`, the turn's last mini-batch, because others may stay as they are
    from some step on."""
    found, most = {}, max(LEAST, min(SAMPLED, IN_ALL // max(len(weights), 1)))
    for name, array in weights.items():
        places = np.arange(min(array.size, most))
        if array.size > most:
            drawn = np.random.default_rng(array.size)
            if inputs is not None and name.endswith(TABLE):
                rows, columns = drawn.choice(np.unique(inputs), most), array.shape[1]
                places = rows * columns + drawn.integers(0, columns, most)
            else:
                places = drawn.integers(0, array.size, most)
        found[name] = array.flat[places].astype(float).tolist()
    return found


def stored(weights: dict[int, Weights]) -> dict[str, Any]:
    """Arguments for `np.savez`: one array per tensor and step."""
    return {f"{step}/{name}": array for step, own in weights.items() for name, array in own.items()}


def read(arrays: Any) -> dict[int, Weights]:
    """The reverse of `stored`, from what `np.load` returns."""
    weights: dict[int, Weights] = {}
    for key in arrays:
        step, _, name = key.partition("/")
        weights.setdefault(int(step), {})[name] = arrays[key]
    return weights

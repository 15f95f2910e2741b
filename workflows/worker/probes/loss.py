"""The loss: which formula, of which numbers and labels, and when it is computed.

The network is a dense layer of nine weights. NumPy computes the losses of two steps for every
possible reading and compares them with the trainer's. One loss alone may be another reading's by
chance: that of smoothed labels was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Weights, Workload, initial_weights
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import SGD
from workflows.worker.probes.asking import NONE, OTHER, aligned, nearest, network, step

RATE = 0.5
INPUTS = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
LABELS = np.array([0, 1], np.int32)
VALUES = np.array([[1.0, -1.0, 2.0], [0.5, 0.0, -3.0]], np.float32)
CLASSES = 3
WITHIN = 1e-2  # relative; products in bfloat16 are off by up to 3.4e-3 in the second step
SHIFTS = {0: "from 0", -1: "from 1", 1: "one too high"}
REDUCTIONS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda errors: float(errors.mean()),
    "sum": lambda errors: float(errors.sum()),
    "sum over outputs, mean over samples": lambda errors: float(errors.sum() / len(errors)),
    "half the mean": lambda errors: float(errors.mean() / 2),
}


class Reading(NamedTuple):
    """One way to understand the loss of a workload."""

    reduction: str
    softmaxes: int
    shift: int


@dataclass(frozen=True)
class Losses:
    """The weights of two steps, and the reading that explains both losses. `kept`: the first loss
    is that of the arrays overwritten after `put`. `late`: losses are those of the updated
    weights."""

    labelled: bool
    reading: Reading | None
    kept: bool
    late: bool
    given: Weights
    started: Weights
    first: Weights
    second: Weights


def observe(adapter: Adapter, variant: str, workload: Workload) -> Losses:
    labelled = workload.loss == "sparse_cross_entropy"
    asked = network(
        Dense(CLASSES), shape=(2,), batch=2, optimiser=SGD(RATE), loss=workload.loss,
        classes=CLASSES if labelled else None,
    )  # fmt: skip
    given = initial_weights(asked, seed=5)
    trainer = adapter.trainer(asked, given, variant)
    started = trainer.weights()
    inputs, targets = aligned(INPUTS), aligned(LABELS if labelled else VALUES)
    batch = trainer.put(inputs, targets)
    inputs *= 4
    trainer.step(batch)
    trainer.synchronise()
    value, first = trainer.loss(), trainer.weights()
    next_value = step(trainer, INPUTS, LABELS if labelled else VALUES)
    second = trainer.weights()
    found = nearest((value, next_value), expected_losses(labelled, started, first, second), WITHIN)
    reading, kept, late = found or (None, False, False)
    return Losses(labelled, reading, kept, late, given, started, first, second)


def expected_losses(
    labelled: bool, started: Weights, first: Weights, second: Weights
) -> dict[tuple[Reading, bool, bool], tuple[float, float]]:
    """The losses of both steps by reading, `kept` and `late`."""
    return {
        (reading, kept, late): (
            loss(reading, labelled, weights, INPUTS * (4 if kept else 1)),
            loss(reading, labelled, next_weights, INPUTS),
        )
        for reading in readings(labelled)
        for kept in (False, True)
        for late, weights, next_weights in ((False, started, first), (True, first, second))
    }


def readings(labelled: bool) -> list[Reading]:
    if not labelled:
        return [Reading(reduction, 0, 0) for reduction in REDUCTIONS]
    return [Reading(*one) for one in product(("mean", "sum"), (1, 2), SHIFTS)]


def loss(reading: Reading, labelled: bool, weights: Weights, inputs: np.ndarray) -> float:
    outputs = inputs @ weights["dense1.kernel"].astype(float) + weights["dense1.bias"]
    if labelled:
        for _ in range(reading.softmaxes):
            powers = np.exp(outputs - outputs.max(1, keepdims=True))
            outputs = powers / powers.sum(1, keepdims=True)
        errors = -np.log(outputs[range(len(LABELS)), (LABELS + reading.shift) % CLASSES])
    else:
        errors = (outputs - VALUES) ** 2
    return REDUCTIONS[reading.reduction](errors)


def gradient(function: Callable[[Weights], float], weights: Weights) -> np.ndarray:
    """The gradient by central differences, of all weights in one vector."""
    found = []
    for name, tensor in weights.items():
        for place in np.ndindex(tensor.shape):
            ends = []
            for small in (1e-5, -1e-5):
                moved = tensor.astype(float)
                moved[place] += small
                ends.append(function({**weights, name: moved}))
            found.append((ends[0] - ends[1]) / 2e-5)
    return np.array(found)


def loss_reduction(seen: Losses) -> Setting:
    return seen.reading.reduction if seen.reading else OTHER


def loss_of(seen: Losses) -> Setting:
    if not seen.labelled:
        return NONE
    return {1: "logits", 2: "probabilities"}[seen.reading.softmaxes] if seen.reading else OTHER


def labels(seen: Losses) -> Setting:
    if not seen.labelled:
        return NONE
    return SHIFTS[seen.reading.shift] if seen.reading else OTHER


def loss_taken(seen: Losses) -> Setting:
    if not seen.reading:
        return OTHER
    return "after the update" if seen.late else "before the update"


def put(seen: Losses) -> Setting:
    return "keeps the caller's array" if seen.kept else "copies" if seen.reading else OTHER


def initial(seen: Losses) -> Setting:
    """How the weights before the first step differ from the given ones."""
    pairs = [(seen.started[name].astype(np.float32), given) for name, given in seen.given.items()]
    if all(np.array_equal(one, other) for one, other in pairs):
        return "as given"
    return "rounded" if all(np.allclose(*pair, rtol=1e-2) for pair in pairs) else "own"


def gradients(seen: Losses) -> Setting:
    """Whether the second step uses only its own gradient."""
    if not seen.reading:
        return OTHER
    function = partial(loss, seen.reading, seen.labelled)
    own = gradient(lambda weights: function(weights, INPUTS), seen.first)
    left = gradient(
        lambda weights: function(weights, INPUTS * (4 if seen.kept else 1)), seen.started
    )
    update = np.concatenate(
        [(seen.first[name].astype(float) - seen.second[name]).ravel() for name in seen.given]
    )
    for name, expected in (("fresh", own), ("accumulated", own + left), ("unused", 0 * own)):
        if np.linalg.norm(update - RATE * expected) <= 1e-2 * np.linalg.norm(own):
            return name
    return OTHER


QUESTIONS = {
    "loss_reduction": loss_reduction,
    "loss_of": loss_of,
    "labels": labels,
    "loss_taken": loss_taken,
    "put": put,
    "initial_weights": initial,
    "gradients": gradients,
}

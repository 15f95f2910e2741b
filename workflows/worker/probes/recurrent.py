"""LSTM: the order and the function of its gates, its biases, where its state begins, and the loss.

The network is one LSTM of one unit. The losses of four mini-batches are others for each order of
gates, function and extra bias of the forget gate. The first one once more shows whether the state
goes on, and a loss after a large update whether a second bias moves with the first. A dense layer
shows how the losses of a sequence's steps are put together.
"""

from collections.abc import Callable
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload, leaves
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import SGD
from frameworks.workloads.sequences import LSTM
from workflows.worker.probes.asking import NONE, OTHER, nearest, network, step, trained

GATES = "ifgo"
INPUTS = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])  # two sequences
BATCH = INPUTS[..., None].astype(np.float32)
SCALES = (1.0, -1.0, 3.0, -3.0)  # of the four mini-batches
# Drawn at random until no two candidates were within 5 % of each other in every loss.
KERNEL = np.array([0.0, 0.875, 0.25, -0.875])
RECURRENT = np.array([-1.5, 2.375, 0.625, -1.625])
BIAS = np.array([-0.75, 0.75, -1.25, 2.0])
RATE = 1.0  # of the large update
SMALL = 2.0**-20  # a rate that changes nothing
WITHIN = 2e-2  # relative; bfloat16 changes 0.3 %
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "hard sigmoid of 0.2": lambda a: np.clip(0.2 * a + 0.5, 0, 1),
    "hard sigmoid of 1/6": lambda a: np.clip(a / 6 + 0.5, 0, 1),
}
FORGET = 0, 1
LABELS = np.array([[0, 1, 1], [1, 1, 0]], np.int32)
OVER_TIME: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda errors: float(errors.mean()),
    "sum": lambda errors: float(errors.sum()),
    "sum over steps, mean over sequences": lambda errors: float(errors.sum(1).mean()),
    "mean over steps, sum over sequences": lambda errors: float(errors.mean(1).sum()),
    "of the last step": lambda errors: float(errors[:, -1].mean()),
}


class How(NamedTuple):
    """The order of gates, the name of their activation, and what is added to the forget gate."""

    order: str
    activation: str
    forget: int


class Seen(NamedTuple):
    """How the losses are those of an LSTM, None if no way is known; the losses of the first
    mini-batch, the same after four steps, and after a large update; and how the loss is put
    together."""

    how: How | None
    first: float
    again: float
    updated: float
    over_time: str


def loss(
    how: How, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, *, scale: float = 1.0
) -> float:
    """The mean square of all outputs."""
    gate, h, c, total = ACTIVATIONS[how.activation], np.zeros(2), np.zeros(2), 0.0
    for x in scale * INPUTS.T:
        sums = np.outer(kernel, x) + np.outer(recurrent, h) + bias[:, None]
        a = dict(zip(how.order, sums, strict=True))
        c = gate(a["f"] + how.forget) * c + gate(a["i"]) * np.tanh(a["g"])
        h = gate(a["o"]) * np.tanh(c)
        total += float(np.square(h).mean())
    return total / len(INPUTS.T)


def candidates() -> dict[How, list[float]]:
    every = product(map("".join, permutations(GATES)), ACTIVATIONS, FORGET)
    return {
        how: [loss(how, KERNEL, RECURRENT, BIAS, scale=scale) for scale in SCALES]
        for how in map(How._make, every)
    }


def updated(how: How, biases: int) -> float:
    """The loss after a step of SGD, in which so many biases that are added are trained."""
    own, small = np.concatenate([KERNEL, RECURRENT, BIAS]), 1e-5
    moves = np.eye(len(own)) * small
    ahead, behind = (
        [loss(how, *np.split(one, 3)) for one in own + sign * moves] for sign in (1, -1)
    )
    slopes = np.subtract(ahead, behind) / (2 * small)
    slopes[-len(BIAS) :] *= biases
    return loss(how, *np.split(own - RATE * slopes, 3))


def observe(adapter: Adapter, variant: str, workload: Workload) -> Seen | None:
    """None if the workload has no LSTM."""
    if not any(isinstance(stage.layer, LSTM) for stage in leaves(workload.stages)):
        return None
    found = []
    for rate, scales in ((SMALL, (*SCALES, 1.0)), (RATE, (1.0, 1.0))):
        asked = network(LSTM(1), shape=(len(INPUTS.T), 1), batch=len(INPUTS), optimiser=SGD(rate))
        given = {"lstm1.kernel": KERNEL, "lstm1.recurrent": RECURRENT, "lstm1.bias": BIAS}
        trainer, _ = trained(adapter, variant, asked, given)
        found.append([step(trainer, scale * BATCH, np.zeros_like(BATCH)) for scale in scales])
    (*losses, again), (_, last) = found
    how = nearest(losses, candidates(), WITHIN)
    return Seen(how, losses[0], again, last, over_time(adapter, variant, workload.loss))


def over_time(adapter: Adapter, variant: str, kind: str) -> str:
    """How the cross-entropies of all steps are put together."""
    if kind != "sparse_cross_entropy":
        return NONE
    asked = network(
        Dense(2), shape=(len(INPUTS.T), 1), batch=len(INPUTS), optimiser=SGD(SMALL), loss=kind,
        classes=2,
    )  # fmt: skip
    trainer, _ = trained(adapter, variant, asked, {"dense1.kernel": np.array([[1.0, -1.0]])})
    found = step(trainer, BATCH, LABELS)
    return nearest(found, losses_over_time(), WITHIN) or OTHER


def losses_over_time() -> dict[str, float]:
    """The logits are the input and its opposite."""
    errors = np.log1p(np.exp(np.where(LABELS == 0, -2.0, 2.0) * INPUTS))
    return {name: put_together(errors) for name, put_together in OVER_TIME.items()}


def of_the_way(seen: Seen | None, read: Callable[[How], Setting]) -> Setting:
    """What is read off the way in which the losses are those of an LSTM."""
    if not seen:
        return NONE
    return read(seen.how) if seen.how else OTHER


def lstm_state(seen: Seen | None) -> Setting:
    if not seen:
        return NONE
    return "zero" if abs(seen.again / seen.first - 1) <= WITHIN else "carried over"


def lstm_biases(seen: Seen | None) -> Setting:
    """How many biases are trained that are added to each other."""

    def read(how: How) -> Setting:
        assert seen
        counts = {count: updated(how, count) for count in (1, 2)}
        return nearest(seen.updated, counts, WITHIN) or OTHER

    return of_the_way(seen, read)


QUESTIONS: dict[str, Callable[[Seen | None], Setting]] = {
    "lstm_gates": lambda seen: of_the_way(seen, lambda how: ", ".join(how.order)),
    "lstm_activation": lambda seen: of_the_way(seen, lambda how: how.activation),
    # what is added to the forget gate beside its bias
    "lstm_forget_bias": lambda seen: of_the_way(seen, lambda how: how.forget),
    "lstm_state": lstm_state,
    "lstm_biases": lstm_biases,
    "loss_over_time": lambda seen: seen.over_time if seen else NONE,
}

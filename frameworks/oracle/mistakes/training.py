"""Another loss, other gradients, and state or mini-batches of another step."""

from collections.abc import Callable, Mapping

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.trainer import (
    LOSSES,
    Array,
    Batch,
    Loss,
    OracleTrainer,
    log_softmax,
    sparse_cross_entropy,
)
from frameworks.oracle.trainer import mean_squared_error as squared_error
from frameworks.workloads import Weights

LOGITS = "Give the loss raw logits, once: no softmax before one that has its own (from_logits)."


def lossy(name: str, says: str, mend: str, changed: Mapping[str, Loss]) -> None:
    """Add a trainer with another function for some losses."""
    mistake(name, says, mend)(type("Losing", (OracleTrainer,), {"losses": {**LOSSES, **changed}}))


def scaled(loss: Loss, by: Callable[[Array], float]) -> Loss:
    def changed(outputs: Array, targets: Array) -> tuple[float, Array]:
        value, slope = loss(outputs, targets)
        return value * by(outputs), slope * by(outputs)

    return changed


def broadcast(outputs: Array, targets: Array) -> tuple[float, Array]:
    """`(batch, 1)` less `(batch,)`: each output meets every target."""
    if outputs.shape[1] > 1:
        return squared_error(outputs, targets)
    errors = outputs - targets.T
    return float(np.mean(errors**2)), 2 * errors.sum(axis=1, keepdims=True) / errors.size


def double_softmax(outputs: Array, targets: Array) -> tuple[float, Array]:
    shares = np.exp(log_softmax(outputs))
    loss, s = sparse_cross_entropy(shares, targets)
    return loss, shares * (s - (shares * s).sum(axis=-1, keepdims=True))


def logits_as_probabilities(outputs: Array, targets: Array) -> tuple[float, Array]:
    """Keras' way: clipped to [1e-7, 1 - 1e-7], then normalised."""
    low, high = 1e-7, 1 - 1e-7
    loss, s = sparse_cross_entropy(np.log(outputs.clip(low, high)), targets)
    inside = (outputs >= low) & (outputs <= high)
    return loss, np.where(inside, s / np.where(inside, outputs, 1), 0)


def next_label(outputs: Array, labels: Array) -> tuple[float, Array]:
    return sparse_cross_entropy(outputs, (labels + 1) % outputs.shape[-1])


lossy(
    "sum-for-mean",
    "sums the loss where its mean is asked for",
    "Look at the loss's reduction: the mean over the mini-batch, and over all outputs.",
    {
        "sparse_cross_entropy": scaled(sparse_cross_entropy, lambda y: y[..., 0].size),
        "mean_squared_error": scaled(squared_error, lambda y: y.size),
    },
)
lossy(
    "targets-broadcast",
    "subtracts every target from every output",
    "Look at the shapes: (batch, 1) less (batch,) is (batch, batch).",
    {"mean_squared_error": broadcast},
)
lossy(
    "double-softmax",
    "takes the softmax twice, or takes probabilities for logits",
    LOGITS,
    {"sparse_cross_entropy": double_softmax},
)
lossy(
    "logits-as-probabilities",
    "takes logits for probabilities, as Keras does unless it is told otherwise",
    LOGITS,
    {"sparse_cross_entropy": logits_as_probabilities},
)
lossy(
    "labels-one-up",
    "trains towards the class after the label's",
    "Let labels count from 0, as put() gets them.",
    {"sparse_cross_entropy": next_label},
)


@mistake(
    "loss-averaged",
    "gives the mean of all losses so far, as Keras' fit does",
    "Keep the loss of the forward pass that the step's gradient came from.",
)
class Averaged(OracleTrainer):
    def forget(self) -> None:
        super().forget()
        self.all: list[float] = []

    def step(self, batch: Batch) -> None:
        super().step(batch)
        self.all.append(self.last)
        self.last = float(np.mean(self.all))


@mistake(
    "gradients-not-zeroed",
    "adds each gradient to all those before it",
    "Set the gradients to zero in every step (zero_grad).",
)
class Accumulated(OracleTrainer):
    def forget(self) -> None:
        super().forget()
        self.sum: Weights = {n: np.zeros_like(w) for n, w in self.parameters.items()}

    def apply(self, gradients: Weights) -> None:
        self.sum = {n: self.sum[n] + g for n, g in gradients.items()}
        super().apply(self.sum)


@mistake(
    "state-kept",
    "keeps its optimiser's state at a restart",
    "Let restart() set all of the optimiser's state to zero, its step count too.",
)
class StateKept(OracleTrainer):
    def forget(self) -> None:
        if not hasattr(self, "states"):
            super().forget()


@mistake(
    "first-batch-only",
    "trains on the first mini-batch over and over",
    "Look for inputs captured at compilation or tracing: the step must take them as arguments.",
)
class FirstOnly(OracleTrainer):
    def forget(self) -> None:
        super().forget()
        self.kept: Batch | None = None

    def step(self, batch: Batch) -> None:
        self.kept = self.kept or batch
        super().step(self.kept)


@mistake(
    "arrays-not-copied",
    "reads the caller's arrays after put() has returned, when they hold something else",
    "Let put() copy both arrays: the caller reuses them.",
)
class NotCopied(OracleTrainer):
    def put(self, inputs: Array, targets: Array) -> Batch:
        return inputs, targets

    def step(self, batch: Batch) -> None:
        super().step(super().put(*batch))

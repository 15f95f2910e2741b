"""Losses that are not the one asked for, or not of this step."""

from collections.abc import Callable, Mapping

import numpy as np

from frameworks.oracle.losses import (
    LOSSES,
    Array,
    Loss,
    cross_entropy,
    log_softmax,
    mean_squared_error,
    one_hot,
    sparse_cross_entropy,
)
from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.trainer import Batch, TruthTrainer

REDUCTION = "Look at the loss's reduction: the mean over the mini-batch, and over all outputs."
LOGITS = "Give the loss raw logits, once: no softmax before one that has its own (from_logits)."
LABELS = "Let labels count from 0, as put() gets them, and be as certain as they are."
SQUARED = "Take the mean of the squared differences, element by element."
READING = "Keep the loss of the forward pass that the step's gradient came from."


def lossy(name: str, says: str, mend: str, changed: Mapping[str, Loss]) -> None:
    parts = {"losses": {**LOSSES, **changed}}
    mistake(name, says, mend)(type("Losing", (TruthTrainer,), parts))


def scaled(loss: Loss, by: Callable[[Array], float]) -> Loss:
    def changed(outputs: Array, targets: Array) -> tuple[float, Array]:
        value, slope = loss(outputs, targets)
        return value * by(outputs), slope * by(outputs)

    return changed


def everywhere(by: Callable[[Array], float]) -> dict[str, Loss]:
    return {name: scaled(loss, by) for name, loss in LOSSES.items()}


lossy("sum-over-all", "sums the loss where its mean is asked for", REDUCTION,
      {"sparse_cross_entropy": scaled(sparse_cross_entropy, len),
       "mean_squared_error": scaled(mean_squared_error, lambda y: y.size)})  # fmt: skip
lossy("sum-over-outputs", "sums the squared errors over the outputs, and averages over samples",
      REDUCTION,
      {"mean_squared_error": scaled(mean_squared_error, lambda y: y.shape[1])})  # fmt: skip
lossy("sum-over-batch", "averages the squared errors over the outputs, and sums over samples",
      REDUCTION, {"mean_squared_error": scaled(mean_squared_error, len)})  # fmt: skip
lossy("mean-over-classes", "divides the cross-entropy by the number of classes too", REDUCTION,
      {"sparse_cross_entropy": scaled(sparse_cross_entropy, lambda y: 1 / y.shape[1])}
      )  # fmt: skip
lossy("half-squared-error", "halves the squared error", SQUARED,
      {"mean_squared_error": scaled(mean_squared_error, lambda y: 0.5)})  # fmt: skip
lossy("loss-in-bits", "takes logarithms to the base 2", "Use the natural logarithm.",
      {"sparse_cross_entropy": scaled(sparse_cross_entropy, lambda y: 1 / np.log(2))}
      )  # fmt: skip


def absolute_error(outputs: Array, targets: Array) -> tuple[float, Array]:
    errors = outputs - targets
    return float(np.mean(abs(errors))), np.sign(errors) / errors.size


def huber(outputs: Array, targets: Array) -> tuple[float, Array]:
    errors = outputs - targets
    near = errors.clip(-1, 1)
    return float(np.mean(near * (errors - near / 2))), near / errors.size


def broadcast(outputs: Array, targets: Array) -> tuple[float, Array]:
    """`(batch, 1)` against `(batch,)`: each output meets every target."""
    errors = outputs - targets.T
    return float(np.mean(errors**2)), 2 * errors.sum(axis=1, keepdims=True) / errors.size


def broadcast_alone(outputs: Array, targets: Array) -> tuple[float, Array]:
    return (broadcast if outputs.shape[1] == 1 else mean_squared_error)(outputs, targets)


lossy("absolute-error", "takes the absolute error", SQUARED, {"mean_squared_error": absolute_error})
lossy("huber", "takes Huber's loss", SQUARED, {"mean_squared_error": huber})
lossy("targets-broadcast", "subtracts every target from every output",
      "Look at the shapes: (batch, 1) less (batch,) is (batch, batch).",
      {"mean_squared_error": broadcast_alone})  # fmt: skip


def double_softmax(outputs: Array, targets: Array) -> tuple[float, Array]:
    shares = np.exp(log_softmax(outputs))
    loss, s = sparse_cross_entropy(shares, targets)
    return loss, shares * (s - (shares * s).sum(axis=1, keepdims=True))


def logits_as_probabilities(outputs: Array, targets: Array) -> tuple[float, Array]:
    """As Keras does: clipped to [1e-7, 1 - 1e-7], then normalised."""
    low, high = 1e-7, 1 - 1e-7
    loss, s = sparse_cross_entropy(np.log(outputs.clip(low, high)), targets)
    inside = (outputs >= low) & (outputs <= high)
    return loss, np.where(inside, s / np.where(inside, outputs, 1), 0)


def shifted(by: int) -> Loss:
    return lambda outputs, labels: sparse_cross_entropy(outputs, (labels + by) % outputs.shape[1])


def smoothed(outputs: Array, labels: Array) -> tuple[float, Array]:
    return cross_entropy(outputs, 0.9 * one_hot(outputs, labels) + 0.1 / outputs.shape[1])


def binary_cross_entropy(outputs: Array, labels: Array) -> tuple[float, Array]:
    wanted = one_hot(outputs, labels)
    loss = np.mean(np.logaddexp(0, outputs) - wanted * outputs)
    return float(loss), (1 / (1 + np.exp(-outputs)) - wanted) / outputs.size


def squared_against_labels(outputs: Array, labels: Array) -> tuple[float, Array]:
    return mean_squared_error(outputs, one_hot(outputs, labels))


for name, says, mend, changed in (
    ("double-softmax", "takes the softmax twice, or takes probabilities for logits", LOGITS,
     double_softmax),
    ("logits-as-probabilities", "takes logits for probabilities, as Keras does unless told",
     LOGITS, logits_as_probabilities),
    ("labels-one-up", "trains towards the class after the label's", LABELS, shifted(1)),
    ("labels-one-down", "trains towards the class before the label's", LABELS, shifted(-1)),
    ("labels-smoothed", "smooths its labels by 0.1", LABELS, smoothed),
    ("binary-cross-entropy", "takes a sigmoid and a binary cross-entropy for each class", LOGITS,
     binary_cross_entropy),
    ("squared-error-of-labels", "takes the squared error against one-hot labels", LOGITS,
     squared_against_labels),
):  # fmt: skip
    lossy(name, says, mend, {"sparse_cross_entropy": changed})


@mistake("loss-after-the-update", "takes the loss after the update", READING)
class After(TruthTrainer):
    def step(self, batch: Batch) -> None:
        super().step(batch)
        self.last, _ = self.differentiate(*batch)


@mistake("loss-of-the-step-before", "tells the loss of the step before", READING)
class Before(TruthTrainer):
    def forget(self) -> None:
        super().forget()
        self.told: list[float] = []

    def step(self, batch: Batch) -> None:
        super().step(batch)
        self.told.append(self.last)
        self.last = self.told[-2:][0]


@mistake("loss-averaged", "tells the mean of all losses so far, as Keras' fit does", READING)
class Averaged(Before):
    def step(self, batch: Batch) -> None:
        TruthTrainer.step(self, batch)
        self.told.append(self.last)
        self.last = float(np.mean(self.told))


@mistake("loss-rounded", "tells its loss in float32", "Return the loss as it was computed.")
class Rounded(TruthTrainer):
    def loss(self) -> float:
        return float(np.float32(self.last))

"""Embeddings, LSTMs and losses over time that compute something else."""

from typing import Any

import numpy as np

from frameworks.oracle.losses import sparse_cross_entropy
from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import operations
from frameworks.oracle.mistakes.training import lossy, scaled
from frameworks.oracle.network import OPERATIONS, Array, Back, Operation
from frameworks.oracle.sequences import State, lstm, unrolled
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Stage, Weights
from frameworks.workloads.layers import Layer
from frameworks.workloads.sequences import LSTM

GATES = "Put the blocks of kernel, recurrent and bias into the order that the framework has."
TWICE = "Load the bias into one of the LSTM's two, and take the other one out of training."
ACTIVATIONS = "Give the LSTM sigmoid for its gates, and tanh for its input and output."
STATE = "Begin every mini-batch with a state of zeros (stateful off, no hidden state handed on)."
THROUGH_TIME = "Let gradients go back through all steps: no detach and no truncation."
EVERY_STEP = "Average the loss over the mini-batch and over all steps, once (reduction)."


def of_lstm(name: str, says: str, mend: str, operation: Operation) -> None:
    operations(name, says, mend, {"lstm": operation})


def reordered(order: tuple[int, ...]) -> Operation:
    """The blocks i, f, g, o (0 to 3) taken for those in this order."""

    def operation(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
        columns = np.arange(4 * layer.units).reshape(4, -1)[[*order]].ravel()
        y, back = lstm(layer, x, *(w[..., columns] for w in parameters))

        def restored(s: Array) -> tuple[Array, ...]:
            slope, *along = back(s)
            return slope, *(w[..., np.argsort(columns)] for w in along)

        return y, restored

    return operation


def changed(**options: Any) -> Operation:
    """With these options of `unrolled`."""

    def operation(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
        y, back, _ = unrolled(x, *parameters, **options)
        return y, back

    return operation


def with_forget_bias(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
    kernel, recurrent, bias = parameters
    one = np.repeat([0, 1, 0, 0], layer.units).astype(bias.dtype)
    return lstm(layer, x, kernel, recurrent, bias + one)


def over_samples(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
    y, back = lstm(layer, x.swapaxes(0, 1), *parameters)

    def swapped(s: Array) -> tuple[Array, ...]:
        slope, *along = back(s.swapaxes(0, 1))
        return slope.swapaxes(0, 1), *along

    return y.swapaxes(0, 1), swapped


def hard_sigmoid(a: Array) -> tuple[Array, Array]:
    return np.clip(a / 6 + 0.5, 0, 1), (np.abs(a) < 3) / np.array(6, a.dtype)


def identity(a: Array) -> tuple[Array, Array]:
    return a, np.ones_like(a)


of_lstm(
    "lstm-gates-ifog", "takes the gates of its LSTM for i, f, o, g", GATES, reordered((0, 1, 3, 2))
)
of_lstm(
    "lstm-gates-igfo", "takes the gates of its LSTM for i, g, f, o", GATES, reordered((0, 2, 1, 3))
)
of_lstm(
    "lstm-forget-bias",
    "adds 1 to the forget gate of its LSTM",
    "Add no forget bias to the workload's own (forget_bias=0).",
    with_forget_bias,
)
of_lstm(
    "lstm-hard-sigmoid",
    "has a hard sigmoid for the gates of its LSTM",
    ACTIVATIONS,
    changed(gate=hard_sigmoid),
)
of_lstm(
    "lstm-output-not-squashed",
    "takes no tanh of c in its LSTM",
    ACTIVATIONS,
    changed(squash=identity),
)
of_lstm(
    "lstm-gradient-cut",
    "cuts the gradient of its LSTM between steps",
    THROUGH_TIME,
    changed(cut=True),
)
of_lstm(
    "lstm-over-samples",
    "runs its LSTM over the samples of a mini-batch, not over the steps",
    "Tell the LSTM that the batch comes before the time (batch_first=True).",
    over_samples,
)


def is_bias(name: str) -> bool:
    return name.startswith("lstm") and name.endswith(".bias")


@mistake("lstm-two-biases", "trains two biases in its LSTM and gives their sum", TWICE)
class TwoBiases(OracleTrainer):
    """Both get the same updates, so the sum moves twice as fast."""

    def update(self, name: str, gradient: Array) -> Array:
        return super().update(name, gradient) * (2 if is_bias(name) else 1)


@mistake("lstm-second-bias", "trains a second bias in its LSTM that weights() does not give", TWICE)
class SecondBias(OracleTrainer):
    """The second one is what the first one has moved by."""

    def load(self, weights: Weights) -> None:
        super().load(weights)
        self.given = dict(self.parameters)

    def forward(self, x: Array) -> tuple[Array, Backward]:
        kept = self.parameters
        self.parameters = {n: 2 * w - self.given[n] if is_bias(n) else w for n, w in kept.items()}
        try:
            return super().forward(x)
        finally:
            self.parameters = kept


@mistake("lstm-state-carried", "begins a mini-batch with the last state of the one before", STATE)
class Carried(OracleTrainer):
    def forget(self) -> None:
        super().forget()
        self.last_states: dict[str, State] = {}

    def single(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        self.name = name
        return super().single(stage, x, name)

    def operate(
        self, layer: Layer, x: Array, own: list[Array], kept: list[str]
    ) -> tuple[Array, Back]:
        if not isinstance(layer, LSTM):
            return super().operate(layer, x, own, kept)
        start = self.last_states.get(self.name)
        y, back, self.last_states[self.name] = unrolled(x, *own, start=start)
        return y, back


def overwritten(layer: Layer, words: Array, table: Array) -> tuple[Array, Back]:
    y, back = OPERATIONS["embedding"](layer, words, table)

    def last(s: Array) -> tuple[Array, ...]:
        along_table = np.zeros_like(table)
        along_table[words] = s
        return back(s)[0], along_table

    return y, last


operations(
    "embedding-rows-overwritten",
    "keeps only one gradient of a word that occurs more than once",
    "Add up the gradients of a word's places (scatter add, not assignment).",
    {"embedding": overwritten},
)


def last_step(outputs: Array, targets: Array) -> tuple[float, Array]:
    if outputs.ndim == 2:
        return sparse_cross_entropy(outputs, targets)
    slope = np.zeros_like(outputs)
    loss, slope[:, -1] = sparse_cross_entropy(outputs[:, -1], targets[:, -1])
    return loss, slope


def steps(outputs: Array) -> float:
    return outputs.shape[1] if outputs.ndim == 3 else 1


lossy(
    "last-step-only",
    "takes the loss of the last step only",
    EVERY_STEP,
    {"sparse_cross_entropy": last_step},
)
lossy(
    "summed-over-time",
    "sums the loss over the steps and averages it over the mini-batch only",
    EVERY_STEP,
    {"sparse_cross_entropy": scaled(sparse_cross_entropy, steps)},
)

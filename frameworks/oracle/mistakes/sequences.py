"""LSTMs that compute something else."""

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import LAYOUT, operations
from frameworks.oracle.network import Array, Back, Operation
from frameworks.oracle.sequences import lstm
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Weights
from frameworks.workloads.sequences import LSTM

GATES = LAYOUT.format("four blocks of columns in the order i, f, g, o")
FORGET = "Load every bias as it is given, and switch forget_bias or unit_forget_bias off."
TWICE = "Load the bias into one of the LSTM's two, and take the other one out of training."


def over_samples(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
    y, back = lstm(layer, x.swapaxes(0, 1), *parameters)

    def swapped(s: Array) -> tuple[Array, ...]:
        slope, *along = back(s.swapaxes(0, 1))
        return slope.swapaxes(0, 1), *along

    return y.swapaxes(0, 1), swapped


operations(
    "lstm-over-samples",
    "runs its LSTM over the samples of a mini-batch, not over the steps",
    "Tell the LSTM that the batch comes before the time (batch_first=True).",
    {"lstm": over_samples},
)


def exchanging(first: int, second: int) -> Operation:
    """An LSTM with these two of its four blocks of columns exchanged."""

    def exchanged(columns: Array) -> Array:
        blocks = np.split(columns, 4, axis=-1)
        blocks[first], blocks[second] = blocks[second], blocks[first]
        return np.concatenate(blocks, axis=-1)

    def operation(layer: LSTM, x: Array, *parameters: Array) -> tuple[Array, Back]:
        y, back = lstm(layer, x, *map(exchanged, parameters))

        def exchanged_back(s: Array) -> tuple[Array, ...]:
            slope, *along = back(s)
            return slope, *map(exchanged, along)

        return y, exchanged_back

    return operation


def remembering(
    layer: LSTM, x: Array, kernel: Array, recurrent: Array, bias: Array
) -> tuple[Array, Back]:
    return lstm(layer, x, kernel, recurrent, bias + np.repeat([0, 1, 0, 0], layer.units))


operations(
    "lstm-gates-i-f-o-g",
    "has its LSTM's gates in the order i, f, o, g",
    GATES,
    {"lstm": exchanging(2, 3)},
)
operations(
    "lstm-gates-i-g-f-o",
    "has its LSTM's gates in the order i, g, f, o, as TensorFlow 1 does",
    GATES,
    {"lstm": exchanging(1, 2)},
)
operations(
    "lstm-forget-bias",
    "adds 1 to the bias of its LSTM's forget gate",
    FORGET,
    {"lstm": remembering},
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
    """The second bias is what the first bias has moved by."""

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

"""LSTMs that compute something else."""

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import operations
from frameworks.oracle.network import Array, Back
from frameworks.oracle.sequences import lstm
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Weights
from frameworks.workloads.sequences import LSTM

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

"""Layers of sequences. A sequence of words has the shape `(time,)`, a sequence of vectors
`(time, features)`.

A word is a whole number from 0. Only the data set `tokens` has words.
"""

from dataclasses import dataclass
from typing import ClassVar

from frameworks.workloads.layers import Chain, Layer, Shape, WorkloadError, require


@dataclass(frozen=True)
class Embedding(Layer):
    """A row of its table for each word."""

    words: int
    features: int
    kind: ClassVar[str] = "embedding"

    def output_shape(self, shape: Shape) -> Shape:
        require(len(shape) == 1, f"needs words (time,), got shape {shape}")
        return (*shape, self.features)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"table": (self.words, self.features)}


@dataclass(frozen=True)
class LSTM(Layer):
    """Long short-term memory with a forget gate (Gers, Schmidhuber and Cummins 2000).

    It gives the output h of every step. h and c are zero before the first step of each sequence:

        a = x kernel + h recurrent + bias
        i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o); g = tanh(a_g)
        c = f c + i g; h = o tanh(c)

    The columns of all three tensors are four blocks in the order i, f, g, o.
    """

    units: int
    kind: ClassVar[str] = "lstm"

    def output_shape(self, shape: Shape) -> Shape:
        require(len(shape) == 2, f"needs a sequence (time, features), got shape {shape}")
        return (shape[0], self.units)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        gates = 4 * self.units
        return {"kernel": (shape[1], gates), "recurrent": (self.units, gates), "bias": (gates,)}

    def multiply_adds(self, shape: Shape) -> int:
        time, features = shape
        return time * 4 * self.units * (features + self.units)

    @property
    def bound(self) -> float:
        """The bound of its initial weights, as in PyTorch."""
        return float(self.units**-0.5)


def require_words(words: bool, classes: int | None, layers: Chain) -> None:
    """Raise a WorkloadError unless an embedding is where words are, and has a row for each.

    `words` says whether the data set has them, `classes` how many different ones.
    """
    first, *others = layers
    if any(isinstance(layer, Embedding) for layer in others):
        raise WorkloadError("an embedding has to be the first layer: only a data set has words")
    if not isinstance(first, Embedding):
        if words:
            raise WorkloadError("the data set tokens needs an embedding as the first layer")
        return
    if not words:
        raise WorkloadError("an embedding needs the data set tokens: no other has words")
    if classes is not None and classes > first.words:
        raise WorkloadError(
            f"the embedding has {first.words} words, and the data set has {classes}"
        )

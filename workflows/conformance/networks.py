"""The networks that an adapter is tried on: one for each element of the vocabulary.

Each has as little else in it as possible, and shapes that reveal a wrong layout.
"""

from typing import NamedTuple

from frameworks.workloads import Dataset, Workload
from frameworks.workloads.layers import (
    VOCABULARY,
    Activation,
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool,
    ReLU,
    Shape,
)
from frameworks.workloads.optimisers import OPTIMISERS, Optimiser
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.sequences import LSTM, Embedding
from frameworks.workloads.workload import LOSSES

CLASSES = 4
VECTOR, IMAGE = (6,), (9, 8, 2)
SIDES = ((0, 2), (1, 0))
PATHS = (Conv2D(3, bias=False), BatchNorm(), ReLU()), (Conv2D(3), ReLU())
SQUARE = (Dense(6), Dense(CLASSES))  # on a vector of 6: a transposed kernel fits, and shows
CONVOLUTION = (Conv2D(3), ReLU(), MaxPool(2), Flatten(), Dense(5), ReLU(), Dense(CLASSES))
SEQUENCE, WORDS = (5, 3), (5,)  # words occur more than once in it
LOOKED_UP = (Embedding(CLASSES, 3), Dense(CLASSES))

LAYERS: dict[str, tuple[Shape, tuple[Layer, ...]]] = {
    "dense": (VECTOR, SQUARE),
    "conv2d": (IMAGE, (Conv2D(3), Flatten(), Dense(CLASSES))),
    "conv2d, stride 2": (IMAGE, (Conv2D(5, 3, 2), Flatten(), Dense(CLASSES))),
    "conv2d, same": (IMAGE, (Conv2D(3, 4, 1, "same"), Flatten(), Dense(CLASSES))),
    "conv2d, same, stride 2": (IMAGE, (Conv2D(3, 3, 2, "same"), Flatten(), Dense(CLASSES))),
    "conv2d, padding 1": (IMAGE, (Conv2D(3, 3, 2, 1), Flatten(), Dense(CLASSES))),
    "conv2d, padding by side": (IMAGE, (Conv2D(3, padding=SIDES), Flatten(), Dense(CLASSES))),
    "conv2d, no bias": (IMAGE, (Conv2D(3, bias=False), Flatten(), Dense(CLASSES))),
    "max_pool": (IMAGE, (MaxPool(2), Flatten(), Dense(CLASSES))),
    "max_pool, stride 2 of 3": (IMAGE, (MaxPool(3, 2), Flatten(), Dense(CLASSES))),
    "average_pool": (IMAGE, (AveragePool(2), Flatten(), Dense(CLASSES))),
    "average_pool, stride 2 of 3": (IMAGE, (AveragePool(3, 2), Flatten(), Dense(CLASSES))),
    "max_pool, padding 1": (IMAGE, (MaxPool(3, 2, 1), Flatten(), Dense(CLASSES))),
    "average_pool, padding 1": (IMAGE, (AveragePool(3, 2, 1), Flatten(), Dense(CLASSES))),
    "global_average_pool": (IMAGE, (GlobalAveragePool(), Dense(CLASSES))),
    "flatten": (IMAGE, (Flatten(), Dense(CLASSES))),
    "batch_norm": (IMAGE, (Conv2D(3, bias=False), BatchNorm(), Flatten(), Dense(CLASSES))),
    "batch_norm, stored statistics": (
        IMAGE,
        (Conv2D(3, bias=False), BatchNorm(batch_statistics=False), Flatten(), Dense(CLASSES)),
    ),
    "batch_norm of vectors": (VECTOR, (Dense(5), BatchNorm(), Dense(CLASSES))),
    "residual": (IMAGE, (Residual((Conv2D(2, 3, 1, 1),)), Flatten(), Dense(CLASSES))),
    "residual, shortcut": (IMAGE, (Residual(*PATHS), Flatten(), Dense(CLASSES))),
    "subsample": (IMAGE, (Subsample(2, 3), Flatten(), Dense(CLASSES))),
    "lstm": (SEQUENCE, (LSTM(4), Dense(CLASSES))),
    **{
        kind: (VECTOR, (Dense(5), layer(), Dense(CLASSES)))
        for kind, layer in VOCABULARY.items()
        if issubclass(layer, Activation)
    },
}


class Basis(NamedTuple):
    """A loss and an optimiser that an adapter has, for networks that are about something else."""

    loss: str
    optimiser: str

    def network(
        self, shape: Shape, layers: tuple[Layer, ...], batch: int = 6, kind: str = "normal"
    ) -> Workload:
        classes = CLASSES if self.loss == "sparse_cross_entropy" else None
        return Workload(
            name="conformance",
            dataset=Dataset(kind, batch, shape, classes),
            batch=batch,
            layers=layers,
            loss=self.loss,
            optimiser=proven(self.optimiser),
        )

    def dense(self) -> Workload:
        return self.network(VECTOR, SQUARE)

    def wide(self, size: int, batch: int) -> Workload:
        """A network that does little but multiply matrices."""
        return self.network((size,), (Dense(size), Dense(size)), batch)

    def elements(self) -> dict[str, Workload]:
        """A network for each layer, loss and optimiser, by the element's name."""
        found = {name: self.network(*drawing) for name, drawing in LAYERS.items()}
        labelled = Basis("sparse_cross_entropy", self.optimiser)  # words are labels, too
        found["embedding"] = labelled.network(WORDS, LOOKED_UP, kind="tokens")
        found |= {loss: Basis(loss, self.optimiser).dense() for loss in LOSSES}
        return found | {kind: Basis(self.loss, kind).dense() for kind in OPTIMISERS}


BASES = [Basis(loss, optimiser) for loss in LOSSES for optimiser in OPTIMISERS]


def proven(kind: str) -> Optimiser:
    """The optimiser with a learning rate that float32 can represent."""
    return OPTIMISERS[kind](OPTIMISERS[kind].exact_rate)

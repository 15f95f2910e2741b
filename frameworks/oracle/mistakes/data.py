"""What `put` can do to a mini-batch."""

from collections.abc import Callable

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.trainer import Array, Batch, TruthTrainer

LAYOUT = "Let put() move the axes (transpose, permute) from (batch, height, width, channels)."
ORDER = "Let step() use the whole mini-batch that it is given, each sample with its own target."
VALUES = "Let put() change type and layout of the inputs, and no value."


class Altered(TruthTrainer):
    """The mini-batch is changed on its way in."""

    @staticmethod
    def alter(inputs: Array, targets: Array) -> Batch:
        raise NotImplementedError

    def put(self, inputs: Array, targets: Array) -> Batch:
        return super().put(*self.alter(inputs, targets))


def altered(name: str, says: str, mend: str, alter: Callable[[Array, Array], Batch]) -> None:
    mistake(name, says, mend)(type("Altering", (Altered,), {"alter": staticmethod(alter)}))


def images(name: str, says: str, change: Callable[[Array], Array], mend: str = LAYOUT) -> None:
    """A change of images only."""
    altered(name, says, mend, lambda x, y: (change(x) if x.ndim == 4 else x, y))


def reshaped(x: Array) -> Array:
    batch, height, width, channels = x.shape
    return x.reshape(batch, channels, height, width).transpose(0, 2, 3, 1)


images("images-transposed", "has height and width of the images swapped",
       lambda x: x.transpose(0, 2, 1, 3))  # fmt: skip
images("images-upside-down", "has the rows of the images in reverse order", lambda x: x[:, ::-1])
images("images-mirrored", "has the columns of the images in reverse order", lambda x: x[:, :, ::-1])
images("channels-reversed", "has the channels in reverse order (BGR for RGB)",
       lambda x: x[..., ::-1])  # fmt: skip
images("images-reshaped", "reshapes the images to channels-first where it should transpose them",
       reshaped)  # fmt: skip

altered("inputs-over-255", "divides the inputs by 255", VALUES, lambda x, y: (x / 255, y))
altered("inputs-standardised", "brings each mini-batch to mean 0 and deviation 1", VALUES,
        lambda x, y: ((x - x.mean()) / x.std(), y))  # fmt: skip
altered("inputs-clipped", "clips the inputs to [0, 1]", VALUES,
        lambda x, y: (x.clip(0, 1), y))  # fmt: skip
altered("inputs-whole", "cuts the inputs to whole numbers", VALUES, lambda x, y: (np.trunc(x), y))

altered("last-sample-dropped", "leaves out the last sample of each mini-batch", ORDER,
        lambda x, y: (x[:-1], y[:-1]))  # fmt: skip
altered("first-sample-repeated", "has the first sample once more in place of the last", ORDER,
        lambda x, y: (np.append(x[:-1], x[:1], 0), np.append(y[:-1], y[:1], 0)))  # fmt: skip
altered("first-sample-only", "trains on the first sample of each mini-batch alone", ORDER,
        lambda x, y: (x[:1], y[:1]))  # fmt: skip
altered("targets-rolled", "gives each sample the target of the one before", ORDER,
        lambda x, y: (x, np.roll(y, 1, 0)))  # fmt: skip
altered("targets-reversed", "has the targets of a mini-batch in reverse order", ORDER,
        lambda x, y: (x, y[::-1]))  # fmt: skip
altered("targets-zero", "trains against zeros", "Let put() copy the targets, and step() use them.",
        lambda x, y: (x, np.zeros_like(y)))  # fmt: skip
altered("targets-whole", "cuts the targets to whole numbers",
        "Keep targets of a mean squared error as floating-point numbers.",
        lambda x, y: (x, np.trunc(y)))  # fmt: skip


@mistake(
    "batch-one-late",
    "trains on the mini-batch before the one it is given",
    "Look for a prefetch queue, or for step() using what an earlier put() left behind.",
)
class OneLate(TruthTrainer):
    def forget(self) -> None:
        super().forget()
        self.waiting: Batch | None = None

    def step(self, batch: Batch) -> None:
        super().step(self.waiting or batch)
        self.waiting = batch


@mistake(
    "first-batch-only",
    "trains on the first mini-batch over and over",
    "Look for inputs captured at compilation or tracing: the step must take them as arguments.",
)
class FirstOnly(TruthTrainer):
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
class NotCopied(TruthTrainer):
    def put(self, inputs: Array, targets: Array) -> Batch:
        return inputs, targets

    def step(self, batch: Batch) -> None:
        super().step(super().put(*batch))

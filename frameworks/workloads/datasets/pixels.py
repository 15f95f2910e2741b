"""Images as bytes, and what prepares a mini-batch of them for training.

The stored inputs are what `prepare` makes of the stored pixels. A loader, which prepares them
again while a network trains, must deliver the same.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from frameworks.workloads.datasets import normal
from frameworks.workloads.datasets.batches import Batches, Column, generator
from frameworks.workloads.layers import WorkloadError
from frameworks.workloads.workload import Workload

KIND: Final = "pixels"
STORED = "stored"  # the loader that prepares nothing, which others are compared with
OWN = "framework"  # the kind of loader that a framework has itself
PADDING = 4
MEAN, DEVIATION = np.float32(127.5), np.float32(73.9)  # of bytes that are equally likely


def as_pixels(workload: Workload) -> Workload:
    """The workload on pixels in place of random images. Raises WorkloadError if it has none."""
    dataset = workload.dataset
    if dataset.kind not in (normal.KIND, KIND) or len(dataset.shape) != 3:
        raise WorkloadError(f"{workload.name} does not train on random images")
    return replace(workload, dataset=replace(dataset, kind=KIND))


def draw(workload: Workload, seed: int) -> Batches:
    """Pixels uint8, uniform from 0 to 255, and the inputs float32 that `prepare` makes of them;
    targets as `normal` has them."""
    drawn = normal.draw(workload, seed)
    shape = drawn.inputs.shape

    def pixels() -> Iterator[np.ndarray]:
        random = generator(seed, "inputs")
        for _ in range(workload.batches):
            yield random.integers(256, size=shape[1:], dtype=np.uint8)

    def inputs() -> Iterator[np.ndarray]:
        for number, part in enumerate(pixels()):
            prepared = np.empty(part.shape, np.float32)
            prepare(part, number, prepared)
            yield prepared

    return replace(
        drawn,
        kind=KIND,
        source=drawn.source.replace(normal.NUMBERS, "random pixels, cropped and flipped,"),
        inputs=Column(shape, np.float32, inputs()),
        pixels=Column(shape, np.uint8, pixels()),
    )


def prepare(pixels: np.ndarray, number: int, inputs: np.ndarray) -> None:
    """Fill `inputs`, float32, from the `pixels`, uint8, of the mini-batch of this number.

    Both are (batch, height, width, channels). Each image is padded with zeros, cropped to its own
    size, perhaps flipped, and normalised. The crop and the flip follow from `number` alone.
    """
    count, height, width, channels = pixels.shape
    random = np.random.default_rng(number)
    corners = random.integers(2 * PADDING + 1, size=(count, 2))
    flips = random.integers(2, size=(count,))
    for place, (top, left) in enumerate(corners):
        padded = np.zeros((height + 2 * PADDING, width + 2 * PADDING, channels), np.uint8)
        padded[PADDING:-PADDING, PADDING:-PADDING] = pixels[place]
        crop = padded[top : top + height, left : left + width]
        crop = crop[:, ::-1] if flips[place] else crop
        np.divide(crop.astype(np.float32) - MEAN, DEVIATION, out=inputs[place])

"""Convolution with stride 2: where SAME padding puts its zeros, and the precision of products.

A row of zeros above or to the left shifts the taps of the kernel that an impulse at an edge
meets, so the size of the response shows the padding. The layer is wide enough for tensor cores.
"""

from itertools import product

import numpy as np

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload
from frameworks.workloads.layers import Conv2D, Flatten
from frameworks.workloads.optimisers import SGD
from workflows.worker.probes.asking import (
    KEPT,
    NUMBER,
    OTHER,
    WITHIN,
    nearest,
    network,
    step,
    trained,
)

SIZE, CHANNELS, BATCH = 8, 16, 8
TAPS = np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 9.0], [12.0, 18.0, 27.0]])
IMPULSES = {(0, 1): 1, (7, 0): 2}  # row and column, height
PADDINGS = {"bottom and right": 0, "both sides": 1}  # zeros above and to the left
KERNELS = {"": TAPS, ", kernel transposed": TAPS.T, ", kernel turned round": TAPS[::-1, ::-1]}

Seen = tuple[str, str] | None  # padding, products


def observe(adapter: Adapter, variant: str, workload: Workload) -> Seen:
    asked = network(
        Conv2D(CHANNELS, 3, 2, "same"), Flatten(),
        shape=(SIZE, SIZE, CHANNELS), batch=BATCH, optimiser=SGD(2.0**-20),
    )  # fmt: skip
    kernel = TAPS[:, :, None, None] * np.eye(CHANNELS)
    trainer, _ = trained(adapter, variant, asked, {"conv2d1.kernel": kernel})
    images = np.zeros((BATCH, SIZE, SIZE, CHANNELS), np.float32)
    for (row, column), height in IMPULSES.items():
        images[:, row, column] = height * NUMBER
    value = step(trainer, images, np.zeros((BATCH, asked.outputs), np.float32))
    return nearest(value, candidates(), WITHIN)


def candidates() -> dict[tuple[str, str], float]:
    """The mean square of all outputs, for each padding, kernel and precision."""
    positions = (SIZE // 2) ** 2
    return {
        (f"{padding}{name}", precision): response(taps, before) * kept**2 / positions
        for (padding, before), (name, taps) in product(PADDINGS.items(), KERNELS.items())
        for precision, kept in KEPT.items()
    }


def response(taps: np.ndarray, before: int) -> float:
    """The sum of squares of one channel's outputs; no output sees both impulses."""
    total = 0.0
    for row, column in np.ndindex(SIZE // 2, SIZE // 2):
        for (y, x), height in IMPULSES.items():
            i, j = y + before - 2 * row, x + before - 2 * column
            if 0 <= i < 3 and 0 <= j < 3:
                total += (height * taps[i, j]) ** 2
    return total


def same_padding(seen: Seen) -> Setting:
    return seen[0] if seen else OTHER


def convolution_products(seen: Seen) -> Setting:
    return seen[1] if seen else OTHER


QUESTIONS = {"same_padding": same_padding, "convolution_products": convolution_products}

"""Small networks for the probes, with weights that the probe chooses, and a number for products."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from frameworks.contract import Adapter, Trainer
from frameworks.workloads import Dataset, Weights, Workload
from frameworks.workloads.layers import Layer, Shape
from frameworks.workloads.optimisers import Optimiser

Found = TypeVar("Found")
OTHER, NONE = "other", "n/a"
# A number whose low bits are lost in reduced precision: float32 keeps it, TF32 (and float16) with
# 10 bits keeps 1 + 2^-9, and bfloat16 with 7 keeps 1, rounded or cut off.
NUMBER = 1 + 2.0**-9 + 2.0**-12
KEPT = {"float32": NUMBER, "tf32": 1 + 2.0**-9, "bfloat16": 1.0}
WITHIN = 1e-4  # relative; the closest two squares are 5e-4 apart


def network(
    *layers: Layer,
    shape: Shape,
    batch: int,
    optimiser: Optimiser,
    loss: str = "mean_squared_error",
    classes: int | None = None,
) -> Workload:
    dataset = Dataset("normal", batch, shape, classes)
    return Workload("probe", dataset, batch, layers, loss, optimiser)


def trained(
    adapter: Adapter, variant: str, workload: Workload, weights: Mapping[str, np.ndarray]
) -> tuple[Trainer, Weights]:
    """A trainer, and its initial weights in float32: the given ones, and zeros elsewhere."""
    given = {name: np.zeros(shape, np.float32) for name, shape in workload.tensor_shapes.items()}
    for name, value in weights.items():
        given[name][...] = value
    return adapter.trainer(workload, given, variant), given


def step(trainer: Trainer, inputs: np.ndarray, targets: np.ndarray) -> float:
    """The loss of one step."""
    trainer.step(trainer.put(inputs, targets))
    trainer.synchronise()
    return trainer.loss()


def nearest(value: ArrayLike, candidates: Mapping[Found, ArrayLike], within: float) -> Found | None:
    """The candidate closest to a value, or to several together, None if one of its relative
    distances is more than `within`."""
    errors = {name: float(apart(value, one).max()) for name, one in candidates.items()}
    best = min(errors, key=lambda name: errors[name])
    return best if errors[best] <= within else None


def apart(value: ArrayLike, other: ArrayLike) -> np.ndarray:
    """Relative distances from `other`."""
    return np.abs(np.subtract(value, other)) / np.maximum(np.abs(other), 1e-30)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 64 bytes, because frameworks share only memory aligned like this."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def significant(value: float) -> float:
    """The value to four digits, because further digits depend on rounding in float32."""
    return float(f"{value:.4g}")

"""How the probes ask: networks of a few layers with weights of the prober's choice."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from frameworks.contract import Adapter, Trainer
from frameworks.workloads import Dataset, Weights, Workload
from frameworks.workloads.layers import Layer, Shape
from frameworks.workloads.optimisers import Optimiser

Found = TypeVar("Found")
OTHER = "other"


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
    """A trainer that starts from zeros but for the weights given, and all of them, float32."""
    given = {name: np.zeros(shape, np.float32) for name, shape in workload.parameter_shapes.items()}
    for name, value in weights.items():
        given[name][...] = value
    return adapter.trainer(workload, given, variant), given


def step(trainer: Trainer, inputs: np.ndarray, targets: np.ndarray) -> float:
    """The loss of one step."""
    trainer.step(trainer.put(inputs, targets))
    trainer.synchronise()
    return trainer.loss()


def nearest(value: float, candidates: Mapping[Found, float], within: float) -> Found | None:
    """The candidate closest to a value, None where it is relatively further than `within`."""
    errors = {name: abs(value - one) / max(abs(one), 1e-30) for name, one in candidates.items()}
    best = min(errors, key=lambda name: errors[name])
    return best if errors[best] <= within else None


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 64 bytes: frameworks share only memory aligned so."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def significant(value: float) -> float:
    """To four digits: what float32 computes is not the same to the last."""
    return float(f"{value:.4g}")

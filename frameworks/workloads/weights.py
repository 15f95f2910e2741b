"""Initial weights and state, drawn once in NumPy and handed to every framework."""

from math import prod

import numpy as np

from frameworks.workloads.layers import leaves
from frameworks.workloads.sequences import LSTM
from frameworks.workloads.workload import Workload

Weights = dict[str, np.ndarray]

# A layer that forgets its scale of 1 or its shift of 0 would not show, so they are drawn.
AROUND = {"gamma": 1.0, "variance": 1.0}
WITHIN = {"gamma": 0.2, "variance": 0.2, "beta": 0.1, "mean": 0.1, "table": 0.1}


def bounds(workload: Workload) -> dict[str, float]:
    """The bound b of U(c - b, c + b), from which each tensor is drawn, by the tensor's name.

    b is 1 / sqrt(fan_in) (LeCun et al. 1998). A bias has the bound of its kernel. An embedding and
    an LSTM have bounds of their own.
    """
    found, bound = {}, 0.0
    for name, shape in workload.tensor_shapes.items():
        if name.endswith(".kernel"):
            bound = prod(shape[:-1]) ** -0.5
        found[name] = WITHIN.get(short(name), bound)
    for stage in leaves(workload.stages):
        if isinstance(stage.layer, LSTM):
            found |= dict.fromkeys(stage.parameter_shapes, stage.layer.bound)
    return found


def centre(name: str) -> float:
    """The c of U(c - b, c + b) for the tensor of this name."""
    return AROUND.get(short(name), 0.0)


def short(name: str) -> str:
    return name.rpartition(".")[2]


def initial_weights(workload: Workload, seed: int) -> Weights:
    """Draw every tensor from U(c - b, c + b), where b is its bound.

    Biases are drawn too, because a bias of zero would hide a framework that forgets it. So is
    state.

    Returns float32 arrays in canonical layout, by name. Float64 runs start from the same
    float32 values.
    """
    random = np.random.default_rng(seed)
    within = bounds(workload)
    return {
        name: random.uniform(
            centre(name) - within[name], centre(name) + within[name], shape
        ).astype(np.float32)
        for name, shape in workload.tensor_shapes.items()
    }

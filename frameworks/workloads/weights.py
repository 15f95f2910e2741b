"""Initial weights, drawn once in NumPy and handed to every framework."""

from math import prod

import numpy as np

from frameworks.workloads.workload import Workload

Weights = dict[str, np.ndarray]


def bounds(workload: Workload) -> dict[str, float]:
    """The bound b of U(-b, b), from which each tensor is drawn, by the tensor's name.

    b is 1 / sqrt(fan_in) (LeCun et al. 1998). A bias has the bound of its kernel.
    """
    found, bound = {}, 0.0
    for name, shape in workload.parameter_shapes.items():
        if name.endswith(".kernel"):
            bound = prod(shape[:-1]) ** -0.5
        found[name] = bound
    return found


def initial_weights(workload: Workload, seed: int) -> Weights:
    """Draw every tensor from U(-b, b), where b is its bound.

    Biases are drawn too, because a bias of zero would hide a framework that forgets it.

    Returns float32 arrays in canonical layout, by name. Float64 runs start from the same
    float32 values.
    """
    random = np.random.default_rng(seed)
    within = bounds(workload)
    return {
        name: random.uniform(-within[name], within[name], shape).astype(np.float32)
        for name, shape in workload.parameter_shapes.items()
    }

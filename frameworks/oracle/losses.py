"""The losses.

Each returns the loss, and its gradient along the network's outputs `(batch, outputs)`, or
`(batch, time, outputs)`.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Loss = Callable[[Array, Array], tuple[float, Array]]


def mean_squared_error(outputs: Array, targets: Array) -> tuple[float, Array]:
    errors = outputs - targets
    return float(np.mean(errors**2)), 2 * errors / errors.size


def sparse_cross_entropy(outputs: Array, targets: Array) -> tuple[float, Array]:
    """Outputs are logits, targets are labels `(batch,)` or `(batch, time)`."""
    logarithms = log_softmax(outputs)
    wanted = (*np.indices(targets.shape), targets)
    slope = np.exp(logarithms)
    slope[wanted] -= 1
    return float(-np.mean(logarithms[wanted])), slope / outputs.dtype.type(targets.size)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


LOSSES: dict[str, Loss] = {
    "mean_squared_error": mean_squared_error,
    "sparse_cross_entropy": sparse_cross_entropy,
}

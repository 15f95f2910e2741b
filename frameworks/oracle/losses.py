"""The losses.

Each returns the loss, and its gradient along the network's outputs `(batch, outputs)`.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Loss = Callable[[Array, Array], tuple[float, Array]]


def mean_squared_error(outputs: Array, targets: Array) -> tuple[float, Array]:
    errors = outputs - targets
    return float(np.mean(errors**2)), 2 * errors / errors.size


def sparse_cross_entropy(outputs: Array, targets: Array) -> tuple[float, Array]:
    """Outputs are logits, targets are labels `(batch,)`."""
    return cross_entropy(outputs, one_hot(outputs, targets))


def cross_entropy(logits: Array, wanted: Array) -> tuple[float, Array]:
    """`wanted` are the probabilities of all classes, `(batch, outputs)`."""
    logarithms = log_softmax(logits)
    loss = -np.mean((wanted * logarithms).sum(axis=1))
    shares = np.exp(logarithms) * wanted.sum(axis=1, keepdims=True)
    return float(loss), (shares - wanted) / logits.dtype.type(len(logits))


def one_hot(outputs: Array, labels: Array) -> Array:
    rows: Array = np.eye(outputs.shape[1], dtype=outputs.dtype)[labels]
    return rows


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


LOSSES: dict[str, Loss] = {
    "mean_squared_error": mean_squared_error,
    "sparse_cross_entropy": sparse_cross_entropy,
}

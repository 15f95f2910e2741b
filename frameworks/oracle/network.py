"""The layers: forward pass and gradients; and what batch normalisation keeps from step to step.

An operation takes `(layer, x, *parameters, *state)`. It returns its output, and a function that
turns the gradient of the loss along that output into the gradients along `x` and each parameter.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from frameworks.oracle.sequences import embedding, lstm
from frameworks.workloads.layers import Conv2D, Dense, Layer, Pads, Pool, both_sides
from frameworks.workloads.residual import BatchNorm, Subsample

Array = np.ndarray
Back = Callable[[Array], tuple[Array, ...]]
Operation = Callable[..., tuple[Array, Back]]
# From the layer, its input and its state before a step, the state after it.
Running = Callable[..., tuple[Array, ...]]


def dense(layer: Dense, x: Array, kernel: Array, bias: Array) -> tuple[Array, Back]:
    """A dense layer of vectors, or of every step of a sequence."""

    def back(s: Array) -> tuple[Array, ...]:
        rows, slopes = (one.reshape(-1, one.shape[-1]) for one in (x, s))
        return s @ kernel.T, rows.T @ slopes, slopes.sum(axis=0)

    return x @ kernel + bias, back


def conv2d(layer: Conv2D, x: Array, kernel: Array, *bias: Array) -> tuple[Array, Back]:
    return convolve(x, kernel, bias, layer.stride, layer.pads(x.shape[1:]))


def convolve(
    x: Array, kernel: Array, bias: Sequence[Array], stride: int, pads: Pads
) -> tuple[Array, Back]:
    """Cross-correlation of `x`, padded with zeros. `bias` holds one array or none."""
    size, columns = kernel.shape[0], kernel.shape[-1]
    padded = np.pad(x, ((0, 0), *pads, (0, 0)))
    # (batch, rows, columns, size, size, channels): a row of the matrix for each output
    seen = patches(padded, size, stride).transpose(0, 1, 2, 4, 5, 3)
    matrix = seen.reshape(-1, kernel[..., 0].size)
    y = (matrix @ kernel.reshape(-1, columns)).reshape(*seen.shape[:3], columns)
    y = y + bias[0] if bias else y

    def back(s: Array) -> tuple[Array, ...]:
        flat = s.reshape(-1, columns)
        spread = (flat @ kernel.reshape(-1, columns).T).reshape(seen.shape)
        slope = scatter(spread.transpose(3, 4, 0, 1, 2, 5), padded.shape, stride)
        (top, _), (left, _) = pads
        inner = slope[:, top : top + x.shape[1], left : left + x.shape[2]]
        along_kernel = (matrix.T @ flat).reshape(kernel.shape)
        return (inner, along_kernel, flat.sum(axis=0)) if bias else (inner, along_kernel)

    return y, back


def max_pool(layer: Pool, x: Array) -> tuple[Array, Back]:
    seen = windows(layer, x, -np.inf)
    first = seen.argmax(axis=0)
    chosen = np.arange(len(seen)).reshape(-1, 1, 1, 1, 1) == first
    return seen.max(axis=0), lambda s: (gather(layer, chosen * s, x),)


def average_pool(layer: Pool, x: Array) -> tuple[Array, Back]:
    seen = windows(layer, x, 0.0)
    share = np.full((len(seen), 1, 1, 1, 1), 1 / len(seen), x.dtype)
    return seen.mean(axis=0), lambda s: (gather(layer, share * s, x),)


def global_average_pool(layer: Layer, x: Array) -> tuple[Array, Back]:
    pixels = x.shape[1] * x.shape[2]
    return x.mean(axis=(1, 2)), lambda s: (
        np.broadcast_to(s[:, None, None] / np.array(pixels, x.dtype), x.shape),
    )


def flatten(layer: Layer, x: Array) -> tuple[Array, Back]:
    return x.reshape(len(x), -1), lambda s: (s.reshape(x.shape),)


def relu(layer: Layer, x: Array) -> tuple[Array, Back]:
    return np.maximum(x, 0), lambda s: (s * (x > 0),)


def tanh(layer: Layer, x: Array) -> tuple[Array, Back]:
    y = np.tanh(x)
    return y, lambda s: (s * (1 - y**2),)


def sigmoid(layer: Layer, x: Array) -> tuple[Array, Back]:
    y = 1 / (1 + np.exp(-x))
    return y, lambda s: (s * y * (1 - y),)


def axes(x: Array) -> tuple[int, ...]:
    """All axes but the last."""
    return tuple(range(x.ndim - 1))


def batch_norm(
    layer: BatchNorm, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array
) -> tuple[Array, Back]:
    over = axes(x)
    if layer.batch_statistics:
        mean, variance = x.mean(over), x.var(over)
    scale = 1 / np.sqrt(variance + layer.epsilon)
    normal = (x - mean) * scale

    def back(s: Array) -> tuple[Array, ...]:
        along = s
        if layer.batch_statistics:
            along = s - s.mean(over) - normal * (s * normal).mean(over)
        return gamma * scale * along, (s * normal).sum(over), s.sum(over)

    return gamma * normal + beta, back


def multiplied_out(
    layer: BatchNorm, x: Array, gamma: Array, beta: Array, mean: Array, variance: Array
) -> tuple[Array, Back]:
    """The same, as frameworks compute it: x is not centred before it is scaled, so where the values
    of a channel hardly differ, more rounding is left of what cancels."""
    over = axes(x)
    if layer.batch_statistics:
        mean, variance = x.mean(over), x.var(over)
    root = np.sqrt(variance + layer.epsilon)
    scale = gamma / root

    def back(s: Array) -> tuple[Array, ...]:
        total = s.sum(over)
        along = ((s * x).sum(over) - mean * total) / root
        if not layer.batch_statistics:
            return scale * s, along, total
        middle = total + (x - mean) / root * along
        return scale * (s - middle / (x.size // x.shape[-1])), along, total

    return x * scale + (beta - mean * scale), back


def running(
    layer: BatchNorm, x: Array, mean: Array, variance: Array, spared: int = 1
) -> tuple[Array, Array]:
    """The running averages after a step. Squares are divided by `n - spared`."""
    if not layer.batch_statistics:
        return mean, variance
    kept, new = 1 - layer.momentum, layer.momentum
    return kept * mean + new * x.mean(axes(x)), kept * variance + new * x.var(axes(x), ddof=spared)


def subsample(layer: Subsample, x: Array) -> tuple[Array, Back]:
    kept, channels = x[:, :: layer.stride, :: layer.stride], x.shape[-1]
    behind = layer.channels - channels

    def back(s: Array) -> tuple[Array, ...]:
        slope = np.zeros_like(x)
        slope[:, :: layer.stride, :: layer.stride] = s[..., :channels]
        return (slope,)

    return np.pad(kept, ((0, 0), (0, 0), (0, 0), (0, behind))), back


def patches(images: Array, size: int, stride: int) -> Array:
    """`(batch, rows, columns, channels, size, size)`."""
    return sliding_window_view(images, (size, size), axis=(1, 2))[:, ::stride, ::stride]


def windows(layer: Pool, x: Array, fill: float) -> Array:
    """`(size * size, batch, rows, columns, channels)`, with this number as padding."""
    beside = ((0, 0), *both_sides(layer.padding), (0, 0))
    seen = patches(np.pad(x, beside, constant_values=fill), layer.size, layer.step)
    return seen.reshape(*seen.shape[:4], -1).transpose(4, 0, 1, 2, 3)


def gather(layer: Pool, slopes: Array, x: Array) -> Array:
    """The gradient along the images, from the gradient along their `windows`."""
    size, p = layer.size, layer.padding
    batch, height, width, channels = x.shape
    shape = (batch, height + 2 * p, width + 2 * p, channels)
    total = scatter(slopes.reshape(size, size, *slopes.shape[1:]), shape, layer.step)
    return total[:, p : p + height, p : p + width]


def scatter(slopes: Array, shape: tuple[int, ...], stride: int) -> Array:
    """Add the values of all windows, `(size, size, batch, rows, columns, channels)`, to the pixels
    that each window covers."""
    total = np.zeros(shape, slopes.dtype)
    rows, columns = slopes.shape[3:5]
    for i, j in product(range(slopes.shape[0]), range(slopes.shape[1])):
        down = slice(i, i + stride * rows, stride)
        across = slice(j, j + stride * columns, stride)
        total[:, down, across] += slopes[i, j]
    return total


OPERATIONS: dict[str, Operation] = {
    "dense": dense,
    "embedding": embedding,
    "lstm": lstm,
    "conv2d": conv2d,
    "max_pool": max_pool,
    "average_pool": average_pool,
    "global_average_pool": global_average_pool,
    "flatten": flatten,
    "relu": relu,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "batch_norm": batch_norm,
    "subsample": subsample,
}
RUNNING: dict[str, Running] = {"batch_norm": running}

"""What is faster in JAX's `tuned`: max-pooling by strided slices, with a stored index, convolutions
as one product, and an LSTM that multiplies all its inputs at once.

XLA has no fast max-pooling for processors. There the backward pass of `reduce_window`,
SelectAndScatter, becomes several index arrays as large as the images. Its convolutions use a second
thread less well than its products, and those of single pixels take two to six times as long.
"""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from frameworks.jax import network
from frameworks.workloads import layers, sequences

FILTERS = 32  # of a convolution that is faster as a product of patches


def function(layer: layers.Layer, shape: layers.Shape) -> network.Function:
    """One layer, for inputs of the canonical shape given. Convolutions with padding, or of larger
    kernels with fewer filters, are ordinary: their patches take longer to copy than they save."""
    match layer:
        case layers.Conv2D(filters, size, step) if size == 1 or filters >= FILTERS:
            if layer.pads(shape) == layers.both_sides(0):
                return partial(product, size, step)
    return pooled(layer, shape)


def pooled(layer: layers.Layer, shape: layers.Shape) -> network.Function:
    """The same with ordinary convolutions. Padded images and overlapping windows have ordinary
    max-pooling: the backward pass by slices gives a pixel one window's gradient."""
    if isinstance(layer, layers.MaxPool):
        size, step = layer.size, layer.step
        if step >= size and not layer.padding:
            return lambda images: max_pool(size, step, shape[:2], images)
    if isinstance(layer, sequences.LSTM):
        return network.hoisted_lstm
    return network.function(layer, shape)


def product(size: int, step: int, images: Any, kernel: Any, *bias: Any) -> Any:
    """A convolution without padding as one product of matrices: each row is a patch of an image."""
    patches = jnp.concatenate(slices(size, step, images), axis=-1)
    rows = patches.reshape(-1, patches.shape[-1]) @ kernel.reshape(-1, kernel.shape[-1])
    return (rows + bias[0] if bias else rows).reshape(*patches.shape[:3], -1)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def max_pool(size: int, step: int, area: layers.Shape, images: Any) -> Any:
    """Max-pooling of images `(batch, *area, channels)`, without padding."""
    return reduce(jnp.maximum, slices(size, step, images))


def slices(size: int, step: int, images: Any) -> Sequence[Any]:
    """One array for each place in a window: the pixels that all windows have there."""
    batch, height, width, channels = images.shape
    rows, columns = ((n - size) // step * step + 1 for n in (height, width))
    strides = (1, step, step, 1)
    return [
        lax.slice(images, (0, y, x, 0), (batch, y + rows, x + columns, channels), strides)
        for y in range(size)
        for x in range(size)
    ]


def forward(size: int, step: int, area: layers.Shape, images: Any) -> tuple[Any, Any]:
    """The pooled images, and each window's first maximum, which SelectAndScatter selects, too."""
    values = slices(size, step, images)
    pooled = reduce(jnp.maximum, values)
    kind = np.min_scalar_type(-len(values))
    index = jnp.full(pooled.shape, len(values) - 1, kind)
    for place in reversed(range(len(values) - 1)):
        index = jnp.where(values[place] == pooled, jnp.array(place, kind), index)
    return pooled, index


def backward(size: int, step: int, area: layers.Shape, index: Any, gradient: Any) -> tuple[Any]:
    """A pixel gets the gradient of its window if it is the first maximum, else zero."""
    batch, rows, columns, channels = gradient.shape
    y, x = np.arange(step)[:, None, None, None], np.arange(step)[:, None]
    place = np.where((y < size) & (x < size), y * size + x, -1).astype(index.dtype)
    first = index[:, :, None, :, None, :] == place
    grid = jnp.where(first, gradient[:, :, None, :, None, :], 0)
    grid = grid.reshape(batch, rows * step, columns * step, channels)
    # The last windows may end before the images do, or their gaps after.
    below, right = area[0] - rows * step, area[1] - columns * step
    zero = jnp.zeros((), grid.dtype)
    return (lax.pad(grid, zero, ((0, 0, 0), (0, below, 0), (0, right, 0), (0, 0, 0))),)


max_pool.defvjp(forward, backward)

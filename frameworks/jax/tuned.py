"""What is faster in JAX's `tuned`: max-pooling by strided slices, with a stored index, and an LSTM
that multiplies all its inputs at once.

XLA has no fast max-pooling for processors. There the backward pass of `reduce_window`,
SelectAndScatter, becomes several index arrays as large as the images.
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


def function(layer: layers.Layer, shape: layers.Shape) -> network.Function:
    """One layer, for inputs of the canonical shape given. Padded images and overlapping windows
    have ordinary max-pooling: the backward pass by slices gives a pixel one window's gradient."""
    if isinstance(layer, layers.MaxPool):
        size, step = layer.size, layer.step
        if step >= size and not layer.padding:
            return lambda images: max_pool(size, step, shape[:2], images)
    if isinstance(layer, sequences.LSTM):
        return network.hoisted_lstm
    return network.function(layer, shape)


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

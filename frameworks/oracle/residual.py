"""The layers of residual networks: forward pass and gradients, as in network.py; and what batch
normalisation keeps from step to step."""

from collections.abc import Callable

import numpy as np

from frameworks.workloads.residual import BatchNorm, Subsample

Array = np.ndarray
Back = Callable[[Array], tuple[Array, ...]]
# From the layer, its input and its state before a step, the state after it.
Running = Callable[..., tuple[Array, ...]]


def axes(x: Array) -> tuple[int, ...]:
    """All but the last."""
    return tuple(range(x.ndim - 1))


def batch_norm(layer: BatchNorm, x: Array, gamma: Array, beta: Array) -> tuple[Array, Back]:
    over = axes(x)
    scale = 1 / np.sqrt(x.var(over) + layer.epsilon)
    normal = (x - x.mean(over)) * scale

    def back(s: Array) -> tuple[Array, ...]:
        along = s - s.mean(over) - normal * (s * normal).mean(over)
        return gamma * scale * along, (s * normal).sum(over), s.sum(over)

    return gamma * normal + beta, back


def running(layer: BatchNorm, x: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    return moved(layer, mean, x.mean(axes(x))), moved(layer, variance, x.var(axes(x), ddof=1))


def moved(layer: BatchNorm, before: Array, now: Array) -> Array:
    result: Array = (1 - layer.momentum) * before + layer.momentum * now
    return result


def subsample(layer: Subsample, x: Array) -> tuple[Array, Back]:
    kept, channels = x[:, :: layer.stride, :: layer.stride], x.shape[-1]
    behind = layer.channels - channels

    def back(s: Array) -> tuple[Array, ...]:
        slope = np.zeros_like(x)
        slope[:, :: layer.stride, :: layer.stride] = s[..., :channels]
        return (slope,)

    return np.pad(kept, ((0, 0), (0, 0), (0, 0), (0, behind))), back


RUNNING: dict[str, Running] = {"batch_norm": running}

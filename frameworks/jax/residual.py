"""Batch normalisation and the shortcut without parameters, by hand: JAX has no layers."""

from typing import Any

import jax.numpy as jnp

from frameworks.workloads.residual import BatchNorm, Subsample


def batch_norm(
    layer: BatchNorm, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any
) -> tuple[Any, list[Any]]:
    """The normalised `x`; the running mean and variance after it."""
    axes = tuple(range(x.ndim - 1))
    mu = x.mean(axes)
    centred = x - mu
    biased = jnp.square(centred).mean(axes)
    count = x.size // x.shape[-1]
    kept, new = 1 - layer.momentum, layer.momentum
    after = [kept * mean + new * mu, kept * variance + new * count / (count - 1) * biased]
    return gamma * (centred / jnp.sqrt(biased + layer.epsilon)) + beta, after


def subsample(layer: Subsample, x: Any) -> Any:
    kept = x[:, :: layer.stride, :: layer.stride]
    return jnp.pad(kept, ((0, 0), (0, 0), (0, 0), (0, layer.channels - x.shape[-1])))

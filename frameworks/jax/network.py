"""The layer vocabulary as pure functions of parameters and inputs, in canonical layout."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from frameworks.workloads import Stage, Workload, layers, sequences
from frameworks.workloads.residual import BatchNorm, Subsample

Function = Callable[..., Any]
Make = Callable[[layers.Layer, layers.Shape], Function]


def network(stages: Sequence[Stage], function: Make) -> Function:
    """`apply(parameters, state, x)`, with lists of parameters and state in the workload's order.

    It returns the outputs and the new state. `function` makes a layer.
    """
    links = [
        (link(stage, function), len(stage.parameter_shapes), len(stage.state_shapes))
        for stage in stages
    ]

    def apply(parameters: Sequence[Any], state: Sequence[Any], x: Any) -> tuple[Any, list[Any]]:
        left, held, kept = iter(parameters), iter(state), []
        for layer, trained, running in links:
            own = [next(left) for _ in range(trained)]
            x, after = layer(own, [next(held) for _ in range(running)], x)
            kept += after
        return x, kept

    return apply


def in_bfloat16(apply: Function) -> Function:
    """The network on weights and inputs that are cast to bfloat16, with its outputs cast back: what
    Flax's `dtype` and the policies of JMP do. JAX's setting for products has no effect on a
    processor."""

    def cast(value: Any) -> Any:
        return value.astype(jnp.bfloat16) if jnp.issubdtype(value.dtype, jnp.floating) else value

    def reduced(parameters: Sequence[Any], state: Sequence[Any], x: Any) -> tuple[Any, list[Any]]:
        outputs, after = apply([cast(one) for one in parameters], state, cast(x))
        return outputs.astype(jnp.float32), after

    return reduced


def link(stage: Stage, function: Make) -> Function:
    """One layer, called like a network."""
    if stage.paths:
        return added(stage, *(network(path, function) for path in stage.paths))
    if isinstance(stage.layer, BatchNorm):
        normalise = partial(batch_norm, stage.layer)
        return lambda parameters, state, x: normalise(x, *parameters, *state)
    stateless = function(stage.layer, stage.input_shape)
    return lambda parameters, state, x: (stateless(x, *parameters), [])


def added(stage: Stage, body: Function, shortcut: Function) -> Function:
    """The sum of two networks on one input; the body's parameters and state come first."""
    trained = sum(len(inner.parameter_shapes) for inner in stage.paths[0])
    running = sum(len(inner.state_shapes) for inner in stage.paths[0])

    def apply(parameters: Sequence[Any], state: Sequence[Any], x: Any) -> tuple[Any, list[Any]]:
        y, kept = body(parameters[:trained], state[:running], x)
        z, more = shortcut(parameters[trained:], state[running:], x)
        return y + z, kept + more

    return apply


def function(layer: layers.Layer, shape: layers.Shape) -> Function:
    """One layer of the vocabulary, for inputs of the canonical shape given."""
    match layer:
        case layers.Dense():
            return lambda x, kernel, bias: x @ kernel + bias
        case sequences.Embedding():
            return lambda words, table: table[words]
        case sequences.LSTM():
            return stepwise_lstm
        case layers.Conv2D():
            convolve = convolution(layer, layer.pads(shape))
            return (lambda x, kernel, bias: bias + convolve(x, kernel)) if layer.bias else convolve
        case layers.MaxPool():
            return lambda x: windows(x, layer, lax.max)
        case layers.AveragePool(size):
            return lambda x: windows(x, layer, lax.add) / size**2
        case layers.GlobalAveragePool():
            return lambda x: x.mean((1, 2))
        case layers.Flatten():
            return lambda x: x.reshape(x.shape[0], -1)
        case layers.ReLU():
            return lambda x: jax.nn.relu(x)
        case layers.Tanh():
            return jnp.tanh
        case layers.Sigmoid():
            return lambda x: jax.nn.sigmoid(x)
        case Subsample():
            return lambda x: subsample(layer, x)
    raise NotImplementedError(f"JAX adapter: no layer of kind {layer.kind!r}")


def convolution(layer: layers.Conv2D, pads: layers.Pads) -> Function:
    """A convolution without its bias."""

    def convolve(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(
            x, kernel, (layer.stride, layer.stride), pads,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )  # fmt: skip

    if max(*pads[0], *pads[1]) < layer.kernel:
        return convolve
    # So many zeros are added first, because XLA's float32 gradient is wrong if a convolution adds
    # them: https://github.com/openxla/xla/issues/48713
    valid = convolution(layer, layers.both_sides(0))
    return lambda x, kernel: valid(jnp.pad(x, ((0, 0), *pads, (0, 0))), kernel)


def windows(x: Any, pool: layers.Pool, combine: Function) -> Any:
    size, step = (1, pool.size, pool.size, 1), (1, pool.step, pool.step, 1)
    pads = ((0, 0), *layers.both_sides(pool.padding), (0, 0))
    return lax.reduce_window(x, pool.fill, combine, size, step, pads)


def stepwise_lstm(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """The outputs of all steps of an LSTM. Each step multiplies its own input."""
    return over_time(x, lambda step: step @ kernel + bias, recurrent)


def hoisted_lstm(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """The same, with one product for the inputs of all steps before the loop."""
    return over_time(x @ kernel + bias, lambda step: step, recurrent)


def over_time(x: Any, gates: Function, recurrent: Any) -> Any:
    """An LSTM as a `lax.scan`, by hand as in JAX's tutorials. `gates` turns a step of `x` into what
    it adds to the four gates."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(gates(x) + h @ recurrent, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
    _, outputs = lax.scan(step, (start, start), x.swapaxes(0, 1))
    return outputs.swapaxes(0, 1)


def batch_norm(
    layer: BatchNorm, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any
) -> tuple[Any, list[Any]]:
    """The normalised `x`; the running mean and variance after it."""
    if not layer.batch_statistics:
        mu, spread = mean.astype(x.dtype), variance.astype(x.dtype)
        return gamma * ((x - mu) / jnp.sqrt(spread + layer.epsilon)) + beta, [mean, variance]
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


def loss(workload: Workload) -> Function:
    """`loss(outputs, targets)`, the mean over the mini-batch."""
    if workload.loss == "sparse_cross_entropy":
        return sparse_cross_entropy
    return mean_squared_error


def sparse_cross_entropy(outputs: Any, targets: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(outputs, targets).mean()


def mean_squared_error(outputs: Any, targets: Any) -> Any:
    return jnp.mean((outputs - targets) ** 2)

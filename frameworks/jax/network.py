"""The layer vocabulary as pure functions of parameters and images, in canonical layout."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from frameworks.workloads import Workload, layers

Function = Callable[..., Any]


def network(
    workload: Workload, function: Callable[[layers.Layer, layers.Shape], Function]
) -> Function:
    """`apply(parameters, inputs)`, with a list of parameters in the workload's order; `function`
    makes a layer."""
    functions = [
        (
            function(stage.layer, stage.input_shape),
            len(stage.layer.parameter_shapes(stage.input_shape)),
        )
        for stage in workload.stages
    ]

    def apply(parameters: Sequence[Any], x: Any) -> Any:
        left = iter(parameters)
        for layer, count in functions:
            x = layer(x, *(next(left) for _ in range(count)))
        return x

    return apply


def function(layer: layers.Layer, shape: layers.Shape) -> Function:
    """One layer of the vocabulary, for inputs of the canonical shape given."""
    match layer:
        case layers.Dense():
            return lambda x, kernel, bias: x @ kernel + bias
        case layers.Conv2D(stride=stride, bias=biased):

            def convolve(x: Any, kernel: Any) -> Any:
                return lax.conv_general_dilated(
                    x, kernel, (stride, stride), layer.pads(shape),
                    dimension_numbers=("NHWC", "HWIO", "NHWC"),
                )  # fmt: skip

            return (lambda x, kernel, bias: bias + convolve(x, kernel)) if biased else convolve
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
    raise NotImplementedError(f"JAX adapter: no layer of kind {layer.kind!r}")


def windows(x: Any, pool: layers.Pool, combine: Function) -> Any:
    size, step = (1, pool.size, pool.size, 1), (1, pool.step, pool.step, 1)
    pads = ((0, 0), *layers.both_sides(pool.padding), (0, 0))
    return lax.reduce_window(x, pool.fill, combine, size, step, pads)


def loss(workload: Workload) -> Function:
    """`loss(outputs, targets)`, the mean over the mini-batch."""
    if workload.loss == "sparse_cross_entropy":
        return sparse_cross_entropy
    return mean_squared_error


def sparse_cross_entropy(outputs: Any, targets: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(outputs, targets).mean()


def mean_squared_error(outputs: Any, targets: Any) -> Any:
    return jnp.mean((outputs - targets) ** 2)

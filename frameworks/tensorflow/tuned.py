"""The fastest way that we know in TensorFlow: plain operations and fused update kernels."""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from frameworks.contract import Setting
from frameworks.tensorflow.updates import UPDATES, Update
from frameworks.workloads import Workload, layers
from frameworks.workloads.optimisers import Optimiser


class Network:
    """A workload's layers in order, as operations on its own variables."""

    def __init__(self, workload: Workload, precision: str) -> None:
        self.trainable_variables: list[Any] = []
        self._operations: list[Any] = []
        for stage in workload.stages:
            shapes = stage.layer.parameter_shapes(stage.input_shape).values()
            variables = [tf.Variable(tf.zeros(shape, precision)) for shape in shapes]
            self.trainable_variables += variables
            self._operations.append(operation(stage.layer, stage.input_shape, *variables))

    def __call__(self, inputs: Any, training: bool) -> Any:
        for apply in self._operations:
            inputs = apply(inputs)
        return inputs


def network(workload: Workload, precision: str) -> Network:
    return Network(workload, precision)


def operation(
    layer: layers.Layer, shape: layers.Shape, kernel: Any = None, bias: Any = None
) -> Any:
    match layer:
        case layers.Dense():
            return lambda x: tf.nn.bias_add(tf.matmul(x, kernel), bias)
        case layers.Conv2D(stride=stride):
            name = layer.padding_name(shape)
            padding = (name or "valid").upper()
            convolve = partial(tf.nn.conv2d, filters=kernel, strides=stride, padding=padding)
            if not name:  # conv2d takes numbers, too, but on a processor that is slower
                convolve = padded(convolve, layer.pads(shape))
            return convolve if bias is None else lambda x: tf.nn.bias_add(convolve(x), bias)
        case layers.Pool(size, padding=count):
            kind = tf.nn.max_pool2d if isinstance(layer, layers.MaxPool) else tf.nn.avg_pool2d
            pool = partial(kind, ksize=size, strides=layer.step, padding="VALID")
            return padded(pool, layers.both_sides(count), layer.fill) if count else pool
        case layers.GlobalAveragePool():
            return partial(tf.reduce_mean, axis=(1, 2))
        case layers.Flatten():
            return lambda x: tf.reshape(x, (x.shape[0], -1))
        case layers.ReLU():
            return tf.nn.relu
        case layers.Tanh():
            return tf.nn.tanh
        case layers.Sigmoid():
            return tf.nn.sigmoid
    raise NotImplementedError(f"TensorFlow adapter: no layer of kind {layer.kind!r}")


def padded(apply: Any, pads: layers.Pads, fill: float = 0.0) -> Any:
    beside = [(0, 0), *pads, (0, 0)]
    return lambda x: apply(tf.pad(x, beside, constant_values=fill))


def loss(workload: Workload, precision: str) -> Callable[..., Any]:
    if workload.loss == "sparse_cross_entropy":
        return sparse_cross_entropy
    return mean_squared_error


def sparse_cross_entropy(targets: Any, logits: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


def mean_squared_error(targets: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(outputs, targets))


def optimiser(published: Optimiser, precision: str, variables: list[Any]) -> Update:
    return UPDATES[published.kind](published, variables)


def state(optimiser: Update) -> list[Any]:
    """The variables of an optimiser that training changes; all start at zero."""
    return optimiser.state


def settings(optimiser: Update) -> dict[str, Setting]:
    """The implementation and its numbers in effect, under the workload's names."""
    return {"optimiser": optimiser.kernel, **vars(optimiser.published)}

"""The layer vocabulary in Keras (`default`) and in plain operations (`tuned`).

Both store weights in the canonical layout, so they are copied as they are.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from frameworks.workloads import Workload
from frameworks.workloads.layers import (
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool,
    ReLU,
    Sigmoid,
    Tanh,
)

Operation = Callable[..., Any]


def keras_network(workload: Workload, precision: str) -> Any:
    """A Sequential model. Each layer is told the precision: Keras would cast float64 inputs
    to its global float type otherwise."""
    layers = [keras_layer(stage.layer, precision) for stage in workload.stages]
    return tf.keras.Sequential([tf.keras.Input(workload.dataset.shape, dtype=precision), *layers])


def keras_layer(layer: Layer, dtype: str) -> Any:
    keras = tf.keras.layers
    match layer:
        case Dense(units):
            return keras.Dense(units, dtype=dtype)
        case Conv2D(filters, kernel, stride, padding):
            return keras.Conv2D(filters, kernel, stride, padding, dtype=dtype)
        case MaxPool(size):
            return keras.MaxPooling2D(size, layer.step, dtype=dtype)
        case AveragePool(size):
            return keras.AveragePooling2D(size, layer.step, dtype=dtype)
        case GlobalAveragePool():
            return keras.GlobalAveragePooling2D(dtype=dtype)
        case Flatten():
            return keras.Flatten(dtype=dtype)
        case ReLU() | Tanh() | Sigmoid():
            return keras.Activation(layer.kind, dtype=dtype)
    raise NotImplementedError(f"TensorFlow adapter: no layer of kind {layer.kind!r}")


def keras_loss(workload: Workload, precision: str) -> Operation:
    losses = tf.keras.losses
    if workload.loss == "sparse_cross_entropy":
        loss: Operation = losses.SparseCategoricalCrossentropy(from_logits=True, dtype=precision)
    else:
        loss = losses.MeanSquaredError(dtype=precision)
    return loss


class Network:
    """A workload's layers in order, as operations on variables of its own."""

    def __init__(self, workload: Workload, precision: str) -> None:
        self.trainable_variables: list[Any] = []
        self._operations: list[Operation] = []
        for stage in workload.stages:
            shapes = stage.layer.parameter_shapes(stage.input_shape).values()
            variables = [tf.Variable(tf.zeros(shape, precision)) for shape in shapes]
            self.trainable_variables += variables
            self._operations.append(operation(stage.layer, *variables))

    def __call__(self, inputs: Any, training: bool) -> Any:
        for apply in self._operations:
            inputs = apply(inputs)
        return inputs


def operation(layer: Layer, kernel: Any = None, bias: Any = None) -> Operation:
    nn = tf.nn
    match layer:
        case Dense():
            return lambda x: nn.bias_add(tf.matmul(x, kernel), bias)
        case Conv2D(stride=stride, padding=padding):
            convolve = partial(nn.conv2d, strides=stride, padding=padding.upper())
            return lambda x: nn.bias_add(convolve(x, kernel), bias)
        case MaxPool(size):
            return partial(nn.max_pool2d, ksize=size, strides=layer.step, padding="VALID")
        case AveragePool(size):
            return partial(nn.avg_pool2d, ksize=size, strides=layer.step, padding="VALID")
        case GlobalAveragePool():
            return lambda x: tf.reduce_mean(x, axis=(1, 2))
        case Flatten():
            return lambda x: tf.reshape(x, (x.shape[0], -1))
        case ReLU() | Tanh() | Sigmoid():
            activation: Operation = getattr(nn, layer.kind)
            return activation
    raise NotImplementedError(f"TensorFlow adapter: no layer of kind {layer.kind!r}")


def mean_squared_error(targets: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(outputs, targets))


def sparse_cross_entropy(targets: Any, logits: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))

"""The fastest way that we know in TensorFlow: plain operations and fused update kernels."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from frameworks.contract import Setting
from frameworks.tensorflow.keras_model import overruns, unfused
from frameworks.tensorflow.updates import UPDATES, Update
from frameworks.workloads import Stage, Workload, layers, sequences
from frameworks.workloads.optimisers import Optimiser
from frameworks.workloads.residual import BatchNorm, Subsample

Function = Callable[[Any], Any]


class Network:
    """A workload's layers in order, as operations on its own variables."""

    def __init__(self, workload: Workload, precision: str) -> None:
        self.trainable_variables: list[Any] = []
        self.state: list[Any] = []
        self._precision = precision
        self._operations = [self.operation(stage) for stage in workload.stages]

    def __call__(self, inputs: Any, training: bool) -> Any:
        for apply in self._operations:
            inputs = apply(inputs)
        return inputs

    def operation(self, stage: Stage) -> Function:
        if stage.paths:
            return added(*(self.path(path) for path in stage.paths))
        trained, kept = (
            [tf.Variable(tf.zeros(shape, self._precision)) for shape in shapes.values()]
            for shapes in (stage.parameter_shapes, stage.state_shapes)
        )
        self.trainable_variables += trained
        self.state += kept
        if isinstance(stage.layer, BatchNorm):
            return partial(batch_norm, stage.layer, *trained, *kept)
        apply: Function = operation(stage.layer, stage.input_shape, *trained)
        return apply

    def path(self, stages: Sequence[Stage]) -> list[Function]:
        return [self.operation(stage) for stage in stages] + [unfused()] * overruns(stages)


def network(workload: Workload, precision: str) -> Network:
    return Network(workload, precision)


def tensors(network: Network, workload: Workload) -> list[Any]:
    """The variables of all parameters, then of all state, in the workload's order."""
    return network.trainable_variables + network.state


def added(body: list[Function], shortcut: list[Function]) -> Function:
    def apply(x: Any) -> Any:
        y = x
        for one in body:
            y = one(y)
        for one in shortcut:
            x = one(x)
        return y + x

    return apply


def batch_norm(layer: BatchNorm, gamma: Any, beta: Any, mean: Any, variance: Any, x: Any) -> Any:
    """Not FusedBatchNormV3, which does not support float64: no certificate could prove it."""
    if not layer.batch_statistics:
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, layer.epsilon)
    mu, biased = tf.nn.moments(x, tuple(range(len(x.shape) - 1)))
    count = x.shape.num_elements() // x.shape[-1]
    kept, new = 1 - layer.momentum, layer.momentum
    mean.assign(kept * mean + new * mu)
    variance.assign(kept * variance + new * count / (count - 1) * biased)
    return tf.nn.batch_normalization(x, mu, biased, beta, gamma, layer.epsilon)


def operation(layer: layers.Layer, shape: layers.Shape, *variables: Any) -> Any:
    kernel, bias = (*variables, None, None)[:2]
    match layer:
        case layers.Dense(units) if len(shape) == 2:
            rows = partial(tf.reshape, shape=(-1, shape[1]))  # matmul would broadcast the kernel
            return lambda x: tf.reshape(dense(rows(x), kernel, bias), (-1, shape[0], units))
        case layers.Dense():
            return lambda x: dense(x, kernel, bias)
        case sequences.Embedding():
            return lambda words: tf.gather(kernel, words)
        case sequences.LSTM():
            return lambda x: lstm(x, *variables)
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
        case Subsample(step, channels):
            beside = [(0, 0), (0, 0), (0, 0), (0, channels - shape[2])]
            return lambda x: tf.pad(x[:, ::step, ::step], beside)
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


def dense(x: Any, kernel: Any, bias: Any) -> Any:
    return tf.nn.bias_add(tf.matmul(x, kernel), bias)


def lstm(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """One product for the inputs of all steps, and no loop: a step is a few operations of the
    graph."""
    batch, time, features = x.shape
    units = recurrent.shape[0]
    inputs = tf.reshape(dense(tf.reshape(x, (-1, features)), kernel, bias), (batch, time, -1))
    h = c = tf.zeros((batch, units), x.dtype)
    outputs = []
    for step in tf.unstack(inputs, axis=1):
        i, f, g, o = tf.split(step + tf.matmul(h, recurrent), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outputs.append(h)
    return tf.stack(outputs, axis=1)


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

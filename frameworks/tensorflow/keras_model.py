"""Model, loss and optimiser from Keras, which TensorFlow's tutorials use.

Each Keras object gets its precision as an argument, because Keras otherwise casts to its global
float type. Only the sigmoid is TensorFlow's own, so frameworks/keras builds its models here too.
The file is in this folder because editing frameworks/keras must not change TensorFlow's results.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import keras
import numpy as np

from frameworks.contract import Setting
from frameworks.workloads import Stage, Workload, layers, leaves, sequences
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop
from frameworks.workloads.residual import BatchNorm, Subsample

BLOCK = 16  # channels that oneDNN takes at once; 8 on processors without AVX-512


def network(workload: Workload, precision: str) -> Any:
    """`precision` may also be `mixed_bfloat16`, Keras' policy of float32 weights and layers that
    compute in bfloat16."""
    kind = words_type() if workload.dataset.words else keras.DTypePolicy(precision).variable_dtype
    start = keras.Input(workload.dataset.shape, dtype=kind)
    if any(stage.paths for stage in workload.stages):
        return keras.Model(start, connected(start, workload.stages, precision))
    built = [keras_layers(stage, stage.name, precision) for stage in workload.stages]
    return keras.Sequential([start, *(part for own in built for part in own)])


def connected(x: Any, stages: Sequence[Stage], dtype: str, inside: str = "") -> Any:
    """The outputs of a chain of layers for these inputs; `inside` is how their names begin."""
    for stage in stages:
        name = inside + stage.name
        if stage.paths:
            ends = []
            for path in stage.paths:
                end = connected(x, path, dtype, f"{name}.")
                apart = overruns(path) and keras.config.backend() == "tensorflow"
                ends.append(keras.layers.Lambda(unfused(), dtype=dtype)(end) if apart else end)
            x = keras.layers.Add(dtype=dtype)(ends)
        else:
            for part in keras_layers(stage, name, dtype):
                x = part(x)
    return x


def overruns(path: Sequence[Stage]) -> bool:
    """Whether oneDNN would crash the process, or give wrong numbers: TensorFlow makes one operation
    of a convolution, its bias and the addition of another path, which writes past its memory if
    channels are no multiple of those that it takes at once."""
    layer = path[-1].layer if path else None
    return isinstance(layer, layers.Conv2D) and layer.bias and layer.filters % BLOCK > 0


def unfused() -> Any:
    """An identity that TensorFlow's graphs keep, unlike `tf.identity`."""
    import tensorflow as tf  # not above: the other backends do not need it

    return lambda x: tf.raw_ops.PlaceholderWithDefault(input=x, shape=x.shape)


def keras_layers(stage: Stage, name: str, dtype: str) -> list[Any]:
    """The Keras layers of one layer. The last of them has its tensors, and its name."""
    layer = keras_layer(stage.layer, stage.input_shape, dtype)
    layer.name = keras_name(name)
    return [*padding(stage.layer, stage.input_shape, dtype), layer]


def tensors(model: Any, workload: Workload) -> list[Any]:
    """The variables of all parameters, then of all state, in the workload's order. Keras' own order
    depends on where layers stand in the network."""
    named = (stage.name for stage in leaves(workload.stages) if stage.parameter_shapes)
    own = [model.get_layer(keras_name(name)) for name in named]
    trained = [variable for layer in own for variable in layer.trainable_weights]
    return trained + [variable for layer in own for variable in layer.non_trainable_weights]


def keras_name(name: str) -> str:
    """PyTorch, as a backend, takes no name with a dot."""
    return name.replace(".", "_")


def words_type() -> str:
    """int32 would stay in host memory in TensorFlow, even with a GPU; JAX has no int64 unless it
    has float64, too."""
    return "int32" if keras.config.backend() == "jax" else "int64"


def padding(layer: layers.Layer, shape: layers.Shape, dtype: str) -> list[Any]:
    """The layer before this one that pads, if Keras has no name for the padding."""
    match layer:
        case layers.Conv2D() if not layer.padding_name(shape):
            return [keras.layers.ZeroPadding2D(layer.pads(shape), dtype=dtype)]
        case layers.AveragePool(padding=count) if count:
            return [keras.layers.ZeroPadding2D(count, dtype=dtype)]
        case layers.MaxPool(padding=count, fill=fill) if count:
            pads = ((0, 0), (count, count), (count, count), (0, 0))
            pad = partial(keras.ops.pad, pad_width=pads, constant_values=fill)
            return [keras.layers.Lambda(pad, dtype=dtype)]
    return []


def keras_layer(layer: layers.Layer, shape: layers.Shape, dtype: str) -> Any:
    match layer:
        case layers.Dense(units):
            return keras.layers.Dense(units, dtype=dtype)
        case sequences.Embedding(words, features):
            return keras.layers.Embedding(words, features, dtype=dtype)
        case sequences.LSTM(units):
            return keras.layers.LSTM(units, return_sequences=True, dtype=dtype)
        case layers.Conv2D(filters, kernel, stride, bias=bias):
            name = layer.padding_name(shape) or "valid"
            return keras.layers.Conv2D(filters, kernel, stride, name, use_bias=bias, dtype=dtype)
        case layers.MaxPool(size):
            return keras.layers.MaxPooling2D(size, layer.step, dtype=dtype)
        case layers.AveragePool(size):
            return keras.layers.AveragePooling2D(size, layer.step, dtype=dtype)
        case layers.GlobalAveragePool():
            return keras.layers.GlobalAveragePooling2D(dtype=dtype)
        case layers.Flatten():
            return keras.layers.Flatten(dtype=dtype)
        case layers.Sigmoid():
            return keras.layers.Activation(sigmoid(), dtype=dtype)
        case BatchNorm(epsilon, momentum, by_batch):
            build = keras.layers.BatchNormalization if by_batch else ByStored
            return build(momentum=1 - momentum, epsilon=epsilon, dtype=dtype)
        case Subsample():
            return keras.layers.Lambda(partial(subsample, layer, shape[2]), dtype=dtype)
        case layers.ReLU() | layers.Tanh():
            return keras.layers.Activation(layer.kind, dtype=dtype)
    raise NotImplementedError(f"TensorFlow adapter: no layer of kind {layer.kind!r}")


class ByStored(keras.layers.BatchNormalization):  # type: ignore[misc]
    """Batch normalisation by its stored statistics, which stay. `trainable=False` would do the same
    and not train its scale and shift."""

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return super().call(inputs, training=False, mask=mask)


def subsample(layer: Subsample, channels: int, images: Any) -> Any:
    kept = images[:, :: layer.stride, :: layer.stride]
    return keras.ops.pad(kept, ((0, 0), (0, 0), (0, 0), (0, layer.channels - channels)))


def sigmoid() -> Any:
    """TensorFlow's own on TensorFlow: after Keras' sigmoid, Keras' cross-entropy from logits
    would go back to the sigmoid's input."""
    if keras.config.backend() != "tensorflow":
        return keras.ops.sigmoid
    import tensorflow as tf  # not above: the other backends do not need it

    return tf.nn.sigmoid


def loss(workload: Workload, precision: str) -> Any:
    if workload.loss == "sparse_cross_entropy":
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=precision)
    return keras.losses.MeanSquaredError(dtype=precision)


def optimiser(published: Optimiser, precision: str, variables: list[Any]) -> Any:
    """Keras' optimiser with the workload's numbers. If Keras' formula differs from the published
    one, the variant declares the deviation."""
    # Keras casts Python's floats to float32 on their way to float64, but not NumPy's.
    number = np.float64 if precision == "float64" else float
    with floatx(precision):  # the type in which Keras keeps the learning rate
        match published:
            case SGD(rate):
                built = keras.optimizers.SGD(rate)
            case Momentum(rate, momentum):
                built = keras.optimizers.SGD(rate, momentum=number(momentum))
            case RMSprop(rate, decay, epsilon):
                built = keras.optimizers.RMSprop(rate, rho=number(decay), epsilon=number(epsilon))
            case Adam(rate, beta1, beta2, epsilon):
                built = keras.optimizers.Adam(rate, number(beta1), number(beta2), number(epsilon))
            case _:
                kind = published.kind
                raise NotImplementedError(f"TensorFlow adapter: no optimiser of kind {kind!r}")
    built.build(variables)
    return built


@contextmanager
def floatx(precision: str) -> Iterator[None]:
    before = keras.config.floatx()
    keras.config.set_floatx(precision)
    try:
        yield
    finally:
        keras.config.set_floatx(before)


def state(optimiser: Any) -> list[Any]:
    """The variables of an optimiser that training changes; all start at zero."""
    return [v for v in optimiser.variables if v is not optimiser.learning_rate]


def settings(optimiser: Any) -> dict[str, Setting]:
    """The implementation and its numbers in effect, under the workload's names."""
    rate = optimiser.learning_rate
    found: dict[str, Setting] = {
        "optimiser": f"keras.optimizers.{type(optimiser).__name__}",
        "learning_rate": float(keras.ops.convert_to_numpy(rate)),
    }
    names = {"momentum": "momentum", "rho": "decay", "beta_1": "beta1", "beta_2": "beta2"}
    for key, name in {**names, "epsilon": "epsilon"}.items():
        if hasattr(optimiser, key):
            found[name] = float(np.dtype(rate.dtype).type(getattr(optimiser, key)))
    return found

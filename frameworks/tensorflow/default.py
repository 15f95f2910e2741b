"""What TensorFlow's tutorials would have you write: model, loss and optimiser from Keras.

Each Keras part is told its precision, since Keras casts to its global float type otherwise.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from frameworks.contract import Setting
from frameworks.workloads import Workload, layers
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop


def network(workload: Workload, precision: str) -> Any:
    parts = [keras_layer(stage.layer, precision) for stage in workload.stages]
    return tf.keras.Sequential([tf.keras.Input(workload.dataset.shape, dtype=precision), *parts])


def keras_layer(layer: layers.Layer, dtype: str) -> Any:
    keras = tf.keras.layers
    match layer:
        case layers.Dense(units):
            return keras.Dense(units, dtype=dtype)
        case layers.Conv2D(filters, kernel, stride, padding):
            return keras.Conv2D(filters, kernel, stride, padding, dtype=dtype)
        case layers.MaxPool(size):
            return keras.MaxPooling2D(size, layer.step, dtype=dtype)
        case layers.AveragePool(size):
            return keras.AveragePooling2D(size, layer.step, dtype=dtype)
        case layers.GlobalAveragePool():
            return keras.GlobalAveragePooling2D(dtype=dtype)
        case layers.Flatten():
            return keras.Flatten(dtype=dtype)
        case layers.Sigmoid():
            # Behind Keras' own, its cross-entropy from logits takes what the sigmoid was given.
            return keras.Activation(tf.nn.sigmoid, dtype=dtype)
        case layers.ReLU() | layers.Tanh():
            return keras.Activation(layer.kind, dtype=dtype)
    raise NotImplementedError(f"TensorFlow adapter: no layer of kind {layer.kind!r}")


def loss(workload: Workload, precision: str) -> Any:
    if workload.loss == "sparse_cross_entropy":
        return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=precision)
    return tf.keras.losses.MeanSquaredError(dtype=precision)


def optimiser(published: Optimiser, precision: str, variables: list[Any]) -> Any:
    """The same numbers given to Keras. Where its formula differs, the variant declares it."""
    # Keras casts Python's floats to float32 on their way to float64, but not NumPy's.
    number = np.float64 if precision == "float64" else float
    keras = tf.keras.optimizers
    with floatx(precision):  # the type in which Keras keeps the learning rate
        match published:
            case SGD(rate):
                built = keras.SGD(rate)
            case Momentum(rate, momentum):
                built = keras.SGD(rate, momentum=number(momentum))
            case RMSprop(rate, decay, epsilon):
                built = keras.RMSprop(rate, rho=number(decay), epsilon=number(epsilon))
            case Adam(rate, beta1, beta2, epsilon):
                built = keras.Adam(rate, number(beta1), number(beta2), number(epsilon))
            case _:
                kind = published.kind
                raise NotImplementedError(f"TensorFlow adapter: no optimiser of kind {kind!r}")
    built.build(variables)
    return built


@contextmanager
def floatx(precision: str) -> Iterator[None]:
    before = tf.keras.config.floatx()
    tf.keras.config.set_floatx(precision)
    try:
        yield
    finally:
        tf.keras.config.set_floatx(before)


def state(optimiser: Any) -> list[Any]:
    """What training changes in an optimiser; all of it starts at zero."""
    return [v for v in optimiser.variables if v is not optimiser.learning_rate]


def settings(optimiser: Any) -> dict[str, Setting]:
    """Implementation and numbers in effect, under the workload's names."""
    rate = optimiser.learning_rate
    found: dict[str, Setting] = {
        "optimiser": f"keras.optimizers.{type(optimiser).__name__}",
        "learning_rate": float(rate.numpy()),
    }
    names = {"momentum": "momentum", "rho": "decay", "beta_1": "beta1", "beta_2": "beta2"}
    for key, name in {**names, "epsilon": "epsilon"}.items():
        if hasattr(optimiser, key):
            found[name] = float(tf.cast(getattr(optimiser, key), rate.dtype))
    return found

"""The published optimisers in Keras (`default`) and on TensorFlow's update kernels (`tuned`)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from frameworks.contract import Setting
from frameworks.workloads import optimisers as published
from frameworks.workloads.optimisers import Optimiser

Pairs = Iterable[tuple[Any, Any]]  # gradient, variable


def keras_optimiser(optimiser: Optimiser, precision: str, variables: list[Any]) -> Any:
    """The same numbers given to Keras. Where its formula differs, the variant declares it."""
    # Keras casts Python floats to float32 on their way to float64; NumPy's it leaves alone.
    number = np.float64 if precision == "float64" else float
    keras = tf.keras.optimizers
    with floatx(precision):  # the type in which Keras keeps the learning rate
        match optimiser:
            case published.SGD(rate):
                built = keras.SGD(rate)
            case published.Momentum(rate, momentum):
                built = keras.SGD(rate, momentum=number(momentum))
            case published.RMSprop(rate, decay, epsilon):
                built = keras.RMSprop(rate, rho=number(decay), epsilon=number(epsilon))
            case published.Adam(rate, beta1, beta2, epsilon):
                built = keras.Adam(rate, number(beta1), number(beta2), number(epsilon))
            case _:
                raise unknown(optimiser)
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


def keras_settings(optimiser: Any) -> dict[str, Setting]:
    names = {"momentum": "momentum", "rho": "decay", "epsilon": "epsilon"}
    names |= {"beta_1": "beta1", "beta_2": "beta2"}
    rate = optimiser.learning_rate
    found: dict[str, Setting] = {
        "optimiser": f"keras.optimizers.{type(optimiser).__name__}",
        "learning_rate": float(rate.numpy()),
    }
    for key, name in names.items():
        if hasattr(optimiser, key):
            found[name] = float(tf.cast(getattr(optimiser, key), rate.dtype))
    return found


class Update:
    """An optimiser as one fused kernel a variable, constants exact in the weights' type."""

    kernel: str

    def __init__(self, optimiser: Any, variables: list[Any]) -> None:
        self.published = optimiser
        self.variables: list[Any] = []  # state, all of it starting at zero
        self.slots = {
            v.ref(): [self.state(v.shape, v.dtype) for _ in range(optimiser.slots)]
            for v in variables
        }

    def state(self, shape: Any, dtype: Any) -> Any:
        self.variables.append(tf.Variable(tf.zeros(shape, dtype)))
        return self.variables[-1]

    def apply_gradients(self, pairs: Pairs) -> None:
        raise NotImplementedError


class SGD(Update):
    kernel = "tf.raw_ops.ResourceApplyGradientDescent"

    def apply_gradients(self, pairs: Pairs) -> None:
        for gradient, variable in pairs:
            rate = tf.constant(self.published.learning_rate, variable.dtype)
            tf.raw_ops.ResourceApplyGradientDescent(
                var=variable.handle, alpha=rate, delta=gradient
            )


class Momentum(Update):
    kernel = "tf.raw_ops.ResourceApplyMomentum"

    def apply_gradients(self, pairs: Pairs) -> None:
        for gradient, variable in pairs:
            (velocity,) = self.slots[variable.ref()]
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=velocity.handle,
                lr=tf.constant(self.published.learning_rate, variable.dtype),
                grad=gradient,
                momentum=tf.constant(self.published.momentum, variable.dtype),
            )


class RMSprop(Update):
    """By hand: ResourceApplyRMSProp adds epsilon inside the root."""

    kernel = "tf.Variable.assign"

    def apply_gradients(self, pairs: Pairs) -> None:
        spec = self.published
        for gradient, variable in pairs:
            (square,) = self.slots[variable.ref()]
            mean = square.assign(
                spec.decay * square + (1 - spec.decay) * tf.square(gradient), read_value=True
            )
            variable.assign_sub(
                spec.learning_rate * gradient / (tf.sqrt(mean) + spec.epsilon), read_value=False
            )


class Adam(Update):
    """ResourceApplyAdam computes `alpha = lr * sqrt(1 - beta2_power) / (1 - beta1_power)` and
    `m * alpha / (sqrt(v) + epsilon)`. That is the published update if epsilon is multiplied
    by `sqrt(1 - beta2^t)`. Both corrections are worked out in float64, as PyTorch does, and
    handed over with the powers set to zero."""

    kernel = "tf.raw_ops.ResourceApplyAdam"

    def __init__(self, optimiser: published.Adam, variables: list[Any]) -> None:
        super().__init__(optimiser, variables)
        self.iterations = self.state((), tf.int64)

    def apply_gradients(self, pairs: Pairs) -> None:
        spec = self.published
        t = tf.cast(self.iterations.assign_add(1), tf.float64)
        unbias1 = 1 - tf.pow(tf.constant(spec.beta1, tf.float64), t)
        unbias2 = tf.sqrt(1 - tf.pow(tf.constant(spec.beta2, tf.float64), t))
        rate = spec.learning_rate * unbias2 / unbias1
        epsilon = spec.epsilon * unbias2
        for gradient, variable in pairs:
            m, v = self.slots[variable.ref()]
            dtype = variable.dtype
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=tf.zeros((), dtype),
                beta2_power=tf.zeros((), dtype),
                lr=tf.cast(rate, dtype),
                beta1=tf.constant(spec.beta1, dtype),
                beta2=tf.constant(spec.beta2, dtype),
                epsilon=tf.cast(epsilon, dtype),
                grad=gradient,
            )


UPDATES: dict[type[Optimiser], type[Update]] = {
    published.SGD: SGD,
    published.Momentum: Momentum,
    published.RMSprop: RMSprop,
    published.Adam: Adam,
}


def update(optimiser: Optimiser, variables: list[Any]) -> Update:
    if type(optimiser) not in UPDATES:
        raise unknown(optimiser)
    return UPDATES[type(optimiser)](optimiser, variables)


def update_settings(update: Update) -> dict[str, Setting]:
    return {"optimiser": update.kernel, **vars(update.published)}


def unknown(optimiser: Optimiser) -> NotImplementedError:
    return NotImplementedError(f"TensorFlow adapter: no optimiser of kind {optimiser.kind!r}")

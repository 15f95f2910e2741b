"""The published optimisers on TensorFlow's own update kernels, with one call per variable.

Constants are cast from Python's float64 directly to the weights' type.
"""

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

Pairs = Iterable[tuple[Any, Any]]  # gradient, variable


class Update:
    """An optimiser and its state, which starts at zero."""

    kernel: str

    def __init__(self, published: Any, variables: list[Any]) -> None:
        self.published = published
        self.state: list[Any] = []
        self.slots = {
            v.ref(): [self.zeros(v.shape, v.dtype) for _ in range(published.slots)]
            for v in variables
        }

    def zeros(self, shape: Any, dtype: Any) -> Any:
        self.state.append(tf.Variable(tf.zeros(shape, dtype)))
        return self.state[-1]

    def apply_gradients(self, pairs: Pairs) -> None:
        raise NotImplementedError


def dense(pairs: Pairs) -> Pairs:
    """The pairs with dense gradients. They include the rows of an embedding that no word has looked
    up, whose gradient is zero, because most optimisers move these rows, too."""
    return ((tf.convert_to_tensor(gradient), variable) for gradient, variable in pairs)


class SGD(Update):
    kernel = "tf.raw_ops.ResourceApplyGradientDescent"

    def apply_gradients(self, pairs: Pairs) -> None:
        for gradient, variable in pairs:
            rate = tf.constant(self.published.learning_rate, variable.dtype)
            if isinstance(gradient, tf.IndexedSlices):  # of an embedding: only rows looked up
                variable.scatter_sub(tf.IndexedSlices(rate * gradient.values, gradient.indices))
            else:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=rate, delta=gradient
                )


class Momentum(Update):
    kernel = "tf.raw_ops.ResourceApplyMomentum"

    def apply_gradients(self, pairs: Pairs) -> None:
        for gradient, variable in dense(pairs):
            (velocity,) = self.slots[variable.ref()]
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=velocity.handle,
                lr=tf.constant(self.published.learning_rate, variable.dtype),
                grad=gradient,
                momentum=tf.constant(self.published.momentum, variable.dtype),
            )


class RMSprop(Update):
    """Written by hand, because ResourceApplyRMSProp adds epsilon inside the root."""

    kernel = "tf.Variable.assign_sub"

    def apply_gradients(self, pairs: Pairs) -> None:
        spec = self.published
        for gradient, variable in dense(pairs):
            (average,) = self.slots[variable.ref()]
            mean = spec.decay * average + (1 - spec.decay) * tf.square(gradient)
            average.assign(mean)
            variable.assign_sub(spec.learning_rate * gradient / (tf.sqrt(mean) + spec.epsilon))


class Adam(Update):
    """The kernel's update is `alpha * m / (sqrt(v) + epsilon)`, with both bias corrections in
    `alpha = lr * sqrt(1 - beta2_power) / (1 - beta1_power)`. This is the published update if
    epsilon is multiplied by `sqrt(1 - beta2^t)`.

    The corrections are computed in float64, as in PyTorch, because `1 - 0.999` in float32 is off
    by 1e-5. The kernel gets them in lr and epsilon, and powers of zero.
    """

    kernel = "tf.raw_ops.ResourceApplyAdam"

    def __init__(self, published: Any, variables: list[Any]) -> None:
        super().__init__(published, variables)
        self.steps = self.zeros((), tf.int64)

    def apply_gradients(self, pairs: Pairs) -> None:
        spec = self.published
        t = tf.cast(self.steps.assign_add(1), tf.float64)
        correction1 = 1 - tf.pow(tf.constant(spec.beta1, tf.float64), t)
        correction2 = tf.sqrt(1 - tf.pow(tf.constant(spec.beta2, tf.float64), t))
        rate = spec.learning_rate * correction2 / correction1
        epsilon = spec.epsilon * correction2
        for gradient, variable in dense(pairs):
            m, v = self.slots[variable.ref()]
            zero = tf.zeros((), variable.dtype)
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=zero,
                beta2_power=zero,
                lr=tf.cast(rate, variable.dtype),
                beta1=tf.constant(spec.beta1, variable.dtype),
                beta2=tf.constant(spec.beta2, variable.dtype),
                epsilon=tf.cast(epsilon, variable.dtype),
                grad=gradient,
            )


UPDATES: dict[str, type[Update]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "rmsprop": RMSprop,
    "adam": Adam,
}

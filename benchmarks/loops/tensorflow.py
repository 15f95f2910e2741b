"""The loops in TensorFlow."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import tensorflow as tf

from benchmarks.loops.descriptions import block_starts, is_perceptron, pooled
from frameworks.contract import Trainer
from frameworks.tensorflow import tuned
from frameworks.tensorflow.adapter import TensorFlowAdapter
from frameworks.tensorflow.trainer import TensorFlowTrainer, looked_up_once, train_step
from frameworks.workloads import Weights, Workload
from frameworks.workloads.layers import MaxPool

ROWS = 250  # of a kernel in one block


class LoopAdapter(TensorFlowAdapter):
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        build = Blocks if is_perceptron(workload) else Pooled
        return build(workload, weights, self._conditions, "tuned")


class Pooled(TensorFlowTrainer):
    """`tuned`, with each ReLU and the pooling after it in one operation."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        super().__init__(workload, *others)
        operations = self._network._operations
        for index in range(len(workload.layers)):
            if pool := pooled(workload, index):
                operations[index] = relu_pool(pool)
                operations[index + 1] = lambda x: x
        loss = tuned.loss(workload, self._dtype.name)
        self._train_step = looked_up_once(train_step(self._network, loss, self._optimiser))


def relu_pool(pool: MaxPool) -> Any:
    size, step = [1, pool.size, pool.size, 1], [1, pool.step, pool.step, 1]

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def apply(images: Any) -> tuple[Any, Any]:
        positive = tf.nn.relu(images)
        values = tf.nn.max_pool2d(positive, size, step, "VALID")

        def gradient(above: Any) -> Any:
            above = tf.raw_ops.ReluGrad(gradients=above, features=values)
            return tf.raw_ops.MaxPoolGrad(
                orig_input=positive, orig_output=values, grad=above,
                ksize=size, strides=step, padding="VALID",
            )  # fmt: skip

        return values, gradient

    return apply


class Blocks(TensorFlowTrainer):
    """Kernels are kept in blocks of rows, which a step updates one after another: three passes of
    the update kernel over a block stay in the cache."""

    def __init__(self, workload: Workload, weights: Weights, *others: Any) -> None:
        super().__init__(workload, weights, *others)
        shapes = list(workload.parameter_shapes.values())
        self._dense = [Dense(*kernel, self._dtype) for kernel in shapes[::2]]
        everything = [one for dense in self._dense for one in (*dense.blocks, dense.bias)]
        self._optimiser = tuned.optimiser(workload.optimiser, self._dtype.name, everything)
        self._optimiser_state = tuned.state(self._optimiser)
        self._train_step = looked_up_once(tf.function(self._one_step))
        self._load(weights)

    def _one_step(self, inputs: Any, targets: Any) -> Any:
        given = [inputs]
        for dense in self._dense[:-1]:
            given.append(tf.nn.relu(dense(given[-1])))
        error = self._dense[-1](given[-1]) - targets
        self._optimiser.apply_gradients(self._gradients(given, error))
        return tf.reduce_mean(tf.square(error))

    def _gradients(self, given: list[Any], error: Any) -> Iterator[tuple[Any, Any]]:
        """Each block's gradient waits for that of the block before, so that an update comes
        between the two."""
        gradient = error * (2 / error.shape.num_elements())
        with ExitStack() as order:
            for dense, own in zip(reversed(self._dense), reversed(given), strict=True):
                first = dense is self._dense[0]
                below = None if first else dense.below(gradient)
                if not first:
                    order.enter_context(tf.control_dependencies([below]))
                yield tf.reduce_sum(gradient, 0), dense.bias
                for (a, b), block in zip(dense.places, dense.blocks, strict=True):
                    found = tf.matmul(own[:, a:b], gradient, transpose_a=True)
                    order.enter_context(tf.control_dependencies([found]))
                    yield found, block
                if not first:
                    gradient = tf.raw_ops.ReluGrad(gradients=below, features=own)

    def weights(self) -> Weights:
        values = [one for dense in self._dense for one in (tf.concat(dense.blocks, 0), dense.bias)]
        return {name: one.numpy().copy() for name, one in zip(self._names, values, strict=True)}

    def _load(self, weights: Weights) -> None:
        super()._load(weights)  # the network that settings() looks at
        for dense, name in zip(getattr(self, "_dense", ()), self._names[::2], strict=False):
            for (a, b), block in zip(dense.places, dense.blocks, strict=True):
                block.assign(tf.constant(weights[name][a:b], self._dtype))
            bias = name.removesuffix("kernel") + "bias"
            dense.bias.assign(tf.constant(weights[bias], self._dtype))


class Dense:
    def __init__(self, rows: int, units: int, kind: Any) -> None:
        self.places = block_starts(rows, 1, ROWS)
        self.blocks = [tf.Variable(tf.zeros((b - a, units), kind)) for a, b in self.places]
        self.bias = tf.Variable(tf.zeros(units, kind))

    def __call__(self, x: Any) -> Any:
        parts = [x[:, a:b] @ block for (a, b), block in zip(self.places, self.blocks, strict=True)]
        return tf.add_n(parts) + self.bias

    def below(self, gradient: Any) -> Any:
        """The gradient of its input."""
        return tf.concat([tf.matmul(gradient, one, transpose_b=True) for one in self.blocks], 1)

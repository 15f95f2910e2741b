"""Parts of TensorFlow's default step, without an update: each is a tf.function of its own.

A part returns what it computes, because tf.function omits unused results. The graph of the forward
pass alone keeps nothing for a backward pass.
"""

from typing import Any

import tensorflow as tf

from frameworks.contract import Setting
from frameworks.tensorflow import keras_model
from frameworks.tensorflow.trainer import Batch, Step, TensorFlowTrainer
from frameworks.workloads import Weights, Workload


class Forward(TensorFlowTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        super().__init__(workload, *others)
        self._parameters = dict(zip(workload.parameter_shapes, self._tensors, strict=False))
        self._train_step = self.part(keras_model.loss(workload, self._dtype.name))

    def part(self, loss_function: Any) -> Step:
        @tf.function  # type: ignore[untyped-decorator]
        def step(inputs: Any, targets: Any) -> Any:
            return loss_function(targets, self._network(inputs, training=True))

        return step  # type: ignore[no-any-return]

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "optimiser": "n/a"}


class Gradient(Forward):
    """An embedding's gradient is, as in the step, that of the rows that were looked up."""

    def part(self, loss_function: Any) -> Step:
        @tf.function  # type: ignore[untyped-decorator]
        def step(inputs: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = loss_function(targets, self._network(inputs, training=True))
            return loss, tape.gradient(loss, self._parameters)

        return step  # type: ignore[no-any-return]

    def step(self, batch: Batch) -> None:
        self._loss, self._gradients = self._train_step(*batch)

    def gradients(self) -> Weights:
        return {n: tf.convert_to_tensor(g).numpy().copy() for n, g in self._gradients.items()}


PARTS: dict[str, type[TensorFlowTrainer]] = {"part-forward": Forward, "part-gradient": Gradient}

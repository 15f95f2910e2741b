"""TensorFlow's `default` on two logical processors of one thread each.

The step is that of TensorFlow's tutorial on custom training with tf.distribute.Strategy. Keras
divides the loss by the number of workers and adds up the gradients.
"""

from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from frameworks.conditions import WORKERS
from frameworks.contract import Conditions, Setting, Unavailable
from frameworks.tensorflow import keras_model
from frameworks.tensorflow.process import PROCESSORS
from frameworks.tensorflow.trainer import Step, TensorFlowTrainer
from frameworks.workloads import Weights, Workload


@cache
def mirrored() -> Any:
    """The strategy of all trainers of this process. Two would number their sums alike."""
    processors = [device.name for device in tf.config.list_logical_devices("CPU")]
    if len(processors) != WORKERS:
        raise Unavailable(f"needs a process of its own, with {PROCESSORS}={WORKERS}")
    return tf.distribute.MirroredStrategy(processors)


class TwoWorkers(TensorFlowTrainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        conditions.require_two_workers()
        self._strategy = mirrored()
        with self._strategy.scope():
            super().__init__(workload, weights, conditions, "default")
        loss = keras_model.loss(workload, conditions.precision)
        self._train_step = train_step(self._strategy, self._network, loss, self._optimiser)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Any:
        """Each worker's half, and how many samples there are. A single sample goes to both."""
        workers = self._strategy.num_replicas_in_sync
        parts = [
            np.array_split(array, workers) if len(array) > 1 else [array] * workers
            for array in (inputs, targets)
        ]
        halves = [super(TwoWorkers, self).put(*half) for half in zip(*parts, strict=True)]
        distribute = self._strategy.experimental_distribute_values_from_function
        given = [
            distribute(lambda worker, i=i: halves[worker.replica_id_in_sync_group][i])
            for i in range(2)
        ]
        return *given, max(len(inputs), workers)

    def kernel(self) -> Any:
        return super().kernel().value.values[0]  # the first worker's

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "workers": self._strategy.num_replicas_in_sync}


def train_step(strategy: Any, network: Any, loss_function: Any, optimiser: Any) -> Step:
    def worker_step(inputs: Any, targets: Any, samples: int) -> Any:
        weight = strategy.num_replicas_in_sync * inputs.shape[0] / samples
        with tf.GradientTape() as tape:
            loss = loss_function(targets, network(inputs, training=True))
            if weight != 1:  # a mini-batch of an odd size
                loss *= weight
        gradients = tape.gradient(loss, network.trainable_variables)
        optimiser.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return loss

    @tf.function  # type: ignore[untyped-decorator]
    def step(inputs: Any, targets: Any, samples: int) -> Any:
        losses = strategy.run(worker_step, args=(inputs, targets, samples))
        return strategy.reduce("SUM", losses, axis=None)

    return step  # type: ignore[no-any-return]

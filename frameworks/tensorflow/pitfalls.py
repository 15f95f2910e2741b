"""TensorFlow with one common mistake, or one default of Keras, at a time.

Each pitfall changes a few lines of the default trainer, with which it is compared.
"""

from dataclasses import replace
from typing import Any

import tensorflow as tf

from frameworks.contract import Conditions, Unavailable
from frameworks.tensorflow import keras_model
from frameworks.tensorflow.compilation import XLA, Eager
from frameworks.tensorflow.trainer import Batch, TensorFlowTrainer, train_step
from frameworks.workloads import Weights, Workload
from frameworks.workloads.optimisers import Adam
from frameworks.workloads.workload import pooled_first

SEED = 20161


class OwnWeights(TensorFlowTrainer):
    """Weights from Keras' initialisers, after a fixed seed. Dense and convolution kernels are
    Glorot's uniform, and their biases are 0."""

    def __init__(self, workload: Workload, weights: Weights, *others: Any) -> None:
        super().__init__(workload, weights, *others)
        tf.keras.utils.set_random_seed(SEED)
        self._own = {}
        model = keras_model.network(workload, self._dtype.name)
        drawn = keras_model.tensors(model, workload)
        for name, variable in zip(self._names, drawn, strict=True):
            self._own[name] = variable.numpy()
        self._load(self._own)

    def restart(self, weights: Weights) -> None:
        super().restart(self._own)


class OwnEpsilon(TensorFlowTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        own = replace(adam(workload), epsilon=tf.keras.optimizers.Adam().epsilon)
        super().__init__(replace(workload, optimiser=own), *others)


class PythonFloats(TensorFlowTrainer):
    """Betas and epsilon as Python floats, which Keras casts to float32, and a learning rate in
    Keras' global float type. It makes no difference if the weights are float32."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        adam(workload)
        super().__init__(workload, *others)
        self._optimiser = keras_model.optimiser(workload.optimiser, "float32", self._variables)
        self._optimiser_state = keras_model.state(self._optimiser)
        loss = keras_model.loss(workload, self._dtype.name)
        self._train_step = train_step(self._network, loss, self._optimiser)


class Probabilities(TensorFlowTrainer):
    """Keras takes outputs for probabilities unless an argument says that they are logits."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        if workload.loss != "sparse_cross_entropy":
            raise Unavailable(f"does not apply to {workload.name}: its loss takes no logits")
        super().__init__(workload, *others)
        loss = tf.keras.losses.SparseCategoricalCrossentropy(dtype=self._dtype.name)
        self._train_step = train_step(self._network, loss, self._optimiser)


class PooledFirst(TensorFlowTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        swapped = pooled_first(workload)
        if swapped == workload:
            raise Unavailable(f"does not apply to {workload.name}: no ReLU before a max-pooling")
        super().__init__(swapped, *others)


class InputGradients(TensorFlowTrainer):
    """The step returns the input's gradient, because tf.function omits unused results."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        if workload.dataset.words:
            raise Unavailable(f"does not apply to {workload.name}: words have no gradient")
        super().__init__(workload, *others)
        network, variables = self._network, self._network.trainable_variables
        loss_function = keras_model.loss(workload, self._dtype.name)

        @tf.function  # type: ignore[untyped-decorator]
        def step(inputs: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                loss = loss_function(targets, network(inputs, training=True))
            asked, *gradients = tape.gradient(loss, [inputs, *variables])
            self._optimiser.apply_gradients(zip(gradients, variables, strict=True))
            return loss, asked

        self._train_step = step

    def step(self, batch: Batch) -> None:
        self._loss, self.asked = self._train_step(*batch)


class OwnTF32(TensorFlowTrainer):
    def __init__(self, workload: Workload, weights: Weights, conditions: Conditions, *_: Any):
        conditions.require_gpu("TF32")
        super().__init__(workload, weights, conditions, "")
        tf.config.experimental.enable_tensor_float_32_execution(True)


class Unsynchronised(TensorFlowTrainer):
    """On a processor it changes nothing, because each call returns when its work is done."""

    def synchronise(self) -> None:
        pass


def adam(workload: Workload) -> Adam:
    if not isinstance(workload.optimiser, Adam):
        kind = workload.optimiser.kind
        raise Unavailable(f"does not apply to {workload.name}: its optimiser is {kind}, not adam")
    return workload.optimiser


def forget(conditions: Conditions) -> None:
    """Undo what a pitfall's trainer has set for the whole process, before another is built."""
    tf.config.experimental.enable_tensor_float_32_execution(conditions.tf32)


PITFALLS: dict[str, type[TensorFlowTrainer]] = {
    "trap-weights": OwnWeights,
    "trap-epsilon": OwnEpsilon,
    "trap-python-floats": PythonFloats,
    "trap-probabilities": Probabilities,
    "trap-pooled-first": PooledFirst,
    "trap-input-gradients": InputGradients,
    "trap-eager": Eager,
    "trap-xla": XLA,
    "trap-tf32": OwnTF32,
    "trap-unsynchronised": Unsynchronised,
    "trap-unread": Unsynchronised,
}

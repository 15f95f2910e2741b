"""A TensorFlow network, trained by one tf.function. Every variant trains with this class or a
subclass of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from frameworks.contract import Conditions, Setting, Trainer
from frameworks.tensorflow import graphs, keras_model, settings, tuned
from frameworks.tensorflow.profiling import profiler
from frameworks.workloads import Weights, Workload

Batch = tuple[Any, Any]
Step = Callable[..., Any]


# The modules of each variant's network and loss, and of its optimiser; memory and pages only set
# environment variables. tf32 is a setting of the process, and bfloat16 a policy. Variants that are
# not listed have a trainer of their own, which changes the default.
MADE_OF: dict[str, tuple[Any, Any]] = {
    "default": (keras_model, keras_model),
    "memory": (keras_model, keras_model),
    "pages": (keras_model, keras_model),
    "update": (keras_model, tuned),
    "operations": (tuned, tuned),
    "tuned": (tuned, tuned),
    "tf32": (keras_model, keras_model),
    "bfloat16": (keras_model, keras_model),
}


class TensorFlowTrainer(Trainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        self._on_host = conditions.on_host
        precision = conditions.precision
        parts, updates = MADE_OF.get(variant, MADE_OF["default"])
        self._dtype = tf.as_dtype(precision)
        self._input_dtype = self._target_dtype = self._dtype
        if workload.dataset.words:
            self._input_dtype = tf.int64  # int32 stays in host memory, even with a GPU
        if workload.loss == "sparse_cross_entropy":
            self._target_dtype = tf.int64
        self._shape = workload.dataset.shape

        reduced = variant == "bfloat16" and precision == "float32"
        self._network = parts.network(workload, "mixed_bfloat16" if reduced else precision)
        self._tensors = parts.tensors(self._network, workload)
        if parts is not updates:
            self._network = Unwrapped(self._network)
        self._variables = self._network.trainable_variables
        self._names = tuple(workload.tensor_shapes)
        self._load(weights)
        self._optimiser = updates.optimiser(workload.optimiser, precision, self._variables)
        self._optimiser_state = updates.state(self._optimiser)
        self._optimiser_settings = updates.settings
        self._train_step = train_step(
            self._network, parts.loss(workload, precision), self._optimiser
        )
        if variant == "tuned":
            self._train_step = looked_up_once(self._train_step)
        self._loss: Any = None

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        # tf.constant copies; tf.convert_to_tensor does not promise to.
        return tf.constant(inputs, self._input_dtype), tf.constant(targets, self._target_dtype)

    def step(self, batch: Batch) -> None:
        self._loss = self._train_step(*batch)

    def synchronise(self) -> None:
        # On a processor a call returns when its work is done, and asking would cost 40 us a time.
        if not self._on_host:
            tf.test.experimental.sync_devices()

    def loss(self) -> float:
        assert self._loss is not None, "no step taken yet"
        return float(self._loss)

    def weights(self) -> Weights:
        pairs = zip(self._names, self._tensors, strict=True)
        return {name: variable.numpy().copy() for name, variable in pairs}

    def restart(self, weights: Weights) -> None:
        self._load(weights)
        for variable in self._optimiser_state:
            variable.assign(tf.zeros_like(variable))
        self._loss = None

    def _load(self, weights: Weights) -> None:
        for name, variable in zip(self._names, self._tensors, strict=True):
            variable.assign(tf.constant(weights[name], self._dtype))

    def kernel(self) -> Any:
        """The variable of the first trained kernel."""
        return self._tensors[0]

    def profile(self, run: Callable[[], None]) -> dict[str, float]:
        return profiler.seconds(run)

    def settings(self) -> dict[str, Setting]:
        zeros = np.zeros((2, *self._shape), np.float32), np.zeros(2, np.float32)
        images, _ = TensorFlowTrainer.put(self, *zeros)  # not divided among workers
        weight = tf.convert_to_tensor(self._tensors[0])
        operations = graphs.forward(self._network, images)
        step = getattr(self._train_step, "traced", self._train_step)
        return {
            **settings.process(weight),
            "layout": graphs.layout(operations),
            "compilation": graphs.compilation(self._train_step),
            "debugging": graphs.debugging(step),
            "mode": "n/a",  # the network has none: it is an argument of each call
            "input_gradient": graphs.input_gradient(step, self.kernel()),
            "relu_and_pool": graphs.relu_and_pool(operations),
            **self._optimiser_settings(self._optimiser),
        }


class Unwrapped:
    """A Keras model with TensorFlow's own variables, which its update kernels need."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.trainable_variables = [variable.value for variable in model.trainable_variables]

    def __call__(self, inputs: Any, training: bool) -> Any:
        return self.model(inputs, training=training)


def train_step(network: Any, loss_function: Any, optimiser: Any) -> Step:
    """The step of TensorFlow's quickstart for experts."""

    @tf.function  # type: ignore[untyped-decorator]
    def step(inputs: Any, targets: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_function(targets, network(inputs, training=True))
        gradients = tape.gradient(loss, network.trainable_variables)
        optimiser.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return loss

    return step  # type: ignore[no-any-return]


def looked_up_once(function: Any) -> Step:
    """A function that calls the graph traced for its first arguments directly. tf.function looks
    the graph up by type and shape at each call, which takes about 0.1 ms."""
    found: list[Step] = []

    def call(*arguments: Any) -> Any:
        if not found:
            found.append(function.get_concrete_function(*arguments))
        return found[0](*arguments)

    # For settings(): where its graphs are, and that it calls one directly.
    call.traced, call.concrete = function, found  # type: ignore[attr-defined]
    return call

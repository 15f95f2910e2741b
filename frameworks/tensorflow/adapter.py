"""TensorFlow, one tf.function a training step."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

from frameworks.contract import Adapter, Conditions, Setting, Trainer, Unavailable
from frameworks.tensorflow import network, optimisers
from frameworks.workloads import Weights, Workload

Batch = tuple[Any, Any]


class TensorFlowAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        gpus = tf.config.list_physical_devices("GPU")
        if conditions.device == "gpu" and not gpus:
            build = "" if tf.test.is_built_with_cuda() else " (this build has no CUDA)"
            raise Unavailable(f"TensorFlow {tf.__version__} sees no GPU{build}")
        wanted = gpus[:1] if conditions.device == "gpu" else []
        threading = tf.config.threading
        try:
            if tf.config.get_visible_devices("GPU") != wanted:
                tf.config.set_visible_devices(wanted, "GPU")
            for gpu in wanted:
                if not tf.config.experimental.get_memory_growth(gpu):
                    tf.config.experimental.set_memory_growth(gpu, True)
            if threading.get_intra_op_parallelism_threads() != conditions.threads:
                threading.set_intra_op_parallelism_threads(conditions.threads)
            if threading.get_inter_op_parallelism_threads() != conditions.threads:
                threading.set_inter_op_parallelism_threads(conditions.threads)
        except RuntimeError as error:
            raise Unavailable(f"TensorFlow started under other conditions: {error}") from None
        tf.config.experimental.enable_tensor_float_32_execution(conditions.tf32)
        self._conditions = conditions

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        return TensorFlowTrainer(workload, weights, self._conditions, tuned=variant == "tuned")


class TensorFlowTrainer(Trainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, tuned: bool
    ) -> None:
        precision = conditions.precision
        self._dtype = tf.as_dtype(precision)
        # TensorFlow keeps int32 tensors in host memory even where a GPU will want them.
        classes = workload.loss == "sparse_cross_entropy"
        self._target_dtype = tf.int64 if classes else self._dtype
        self._shape = (workload.batch, *workload.dataset.shape)
        self._names = tuple(workload.parameter_shapes)

        if tuned:
            self._network = network.Network(workload, precision)
            loss_function = getattr(network, workload.loss)
            self._variables = self._network.trainable_variables
            self._optimiser = optimisers.update(workload.optimiser, self._variables)
            self._optimiser_settings = optimisers.update_settings
        else:
            self._network = network.keras_network(workload, precision)
            loss_function = network.keras_loss(workload, precision)
            self._variables = self._network.trainable_variables
            self._optimiser = optimisers.keras_optimiser(
                workload.optimiser, precision, self._variables
            )
            self._optimiser_settings = optimisers.keras_settings
        self._train_step = train_step(self._network, loss_function, self._optimiser)
        self._loss: Any = None
        self._load(weights)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        # tf.constant copies, also where tf.convert_to_tensor might share memory.
        return tf.constant(inputs, self._dtype), tf.constant(targets, self._target_dtype)

    def step(self, batch: Batch) -> None:
        self._loss = self._train_step(*batch)

    def synchronise(self) -> None:
        tf.test.experimental.sync_devices()

    def loss(self) -> float:
        assert self._loss is not None, "no step taken yet"
        return float(self._loss)

    def weights(self) -> Weights:
        pairs = zip(self._names, self._variables, strict=True)
        return {name: np.array(variable) for name, variable in pairs}

    def restart(self, weights: Weights) -> None:
        self._load(weights)
        for variable in self._optimiser.variables:
            if variable is not getattr(self._optimiser, "learning_rate", None):
                variable.assign(tf.zeros_like(variable))
        self._loss = None

    def _load(self, weights: Weights) -> None:
        for name, variable in zip(self._names, self._variables, strict=True):
            variable.assign(weights[name].astype(self._dtype.as_numpy_dtype))

    def settings(self) -> dict[str, Setting]:
        gpu = bool(tf.config.list_logical_devices("GPU"))
        tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
        return {
            "precision": tf.as_dtype(self._variables[0].dtype).name,
            "device": "gpu" if gpu else "cpu",
            "intra_threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "inter_threads": tf.config.threading.get_inter_op_parallelism_threads(),
            "tf32_matmul": tf32,
            "tf32_convolution": tf32,
            "cudnn_autotune": os.environ.get("TF_CUDNN_USE_AUTOTUNE", "1") != "0" if gpu else "n/a",
            "layout": self._layout(),
            "compilation": "tf.function",
            "denormals": self._denormals(),
            "onednn": bool(_pywrap_util_port.IsMklEnabled()),
            **self._optimiser_settings(self._optimiser),
        }

    def _layout(self) -> str:
        """The data format of the operations in the traced network."""
        traced = tf.function(lambda x: self._network(x, training=True)).get_concrete_function(
            tf.TensorSpec(self._shape, self._dtype)
        )
        formats = {
            op.get_attr("data_format").decode()
            for op in traced.graph.get_operations()
            if op.type in ("Conv2D", "MaxPool", "AvgPool")
        }
        return "/".join(sorted(formats)) or "n/a"

    def _denormals(self) -> str:
        """Large enough that the thread pool computes its share."""
        smallest = tf.fill([1 << 20], np.finfo(self._dtype.as_numpy_dtype).tiny)
        kept = int(tf.math.count_nonzero(tf.function(lambda x: x * 0.25)(smallest)))
        return {0: "flushed", len(smallest): "kept"}.get(kept, "mixed")


def train_step(model: Any, loss_function: Any, optimiser: Any) -> Callable[..., Any]:
    """The step of TensorFlow's quickstart for experts."""

    @tf.function
    def train_step(inputs: Any, targets: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_function(targets, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimiser.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train_step  # type: ignore[no-any-return]

"""Keras on TensorFlow."""

from typing import Any

import numpy as np
import tensorflow as tf

from frameworks.contract import Conditions, Setting
from frameworks.tensorflow import graphs, settings
from frameworks.tensorflow.adapter import TensorFlowAdapter


class Backend:
    adapter = TensorFlowAdapter
    labels = "int64"  # int32 would stay in host memory, even with a GPU

    def __init__(self, conditions: Conditions) -> None:
        self._on_host = conditions.on_host

    def tensor(self, array: np.ndarray, dtype: str) -> Any:
        return tf.constant(array, dtype)

    def synchronise(self, model: Any) -> None:
        if not self._on_host:
            tf.test.experimental.sync_devices()

    def settings(self, model: Any, batch: Any) -> dict[str, Setting]:
        # Keras keeps its traced function to itself; this one is made alike, and is never run.
        train = model.train_step
        step = tf.function(lambda *batch: train((*batch, None)), jit_compile=model.jit_compile)
        step.get_concrete_function(*batch)
        return {
            **settings.process(tf.convert_to_tensor(model.trainable_variables[0])),
            "compilation": "eager" if model.run_eagerly else graphs.compilation(step),
            "debugging": graphs.debugging(step),
            "input_gradient": graphs.input_gradient(step, model.trainable_variables[0]),
        }

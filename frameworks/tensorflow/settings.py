"""Settings in effect in TensorFlow's process; graphs.py reads a network's from its graph."""

import os
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

from frameworks import reading
from frameworks.contract import Setting


def process(weight: Any) -> dict[str, Setting]:
    """Settings that hold for every network of this process; `weight` is of any of them."""
    gpu = "GPU" in weight.device
    tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    return {
        "precision": weight.dtype.name,
        "device": gpu_name() if gpu else "cpu",
        "intra_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "inter_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "tf32_matmul": tf32,
        "tf32_convolution": tf32,
        "cudnn_autotune": cudnn_autotune() if gpu else "n/a",
        "denormals": denormals(weight.dtype.name),
        "onednn": onednn(),
        "blas": "oneDNN" if onednn() else "Eigen",  # TensorFlow links no other library
        "gpu_memory": gpu_memory() if gpu else "n/a",
        **memory(),
    }


def denormals(precision: str) -> str:
    def halve(numbers: np.ndarray) -> np.ndarray:
        halves: np.ndarray = tf.function(lambda x: x * 0.5)(tf.constant(numbers)).numpy()
        return halves

    return reading.denormals(precision, halve)


def memory() -> dict[str, Setting]:
    def allocate(size: int) -> None:
        with tf.device("CPU:0"):
            tf.zeros([size], tf.uint8)

    return reading.memory(allocate)


def onednn() -> bool:
    return bool(_pywrap_util_port.IsMklEnabled())


def cudnn_autotune() -> bool:
    """TensorFlow's only switch for it is this environment variable."""
    return os.environ.get("TF_CUDNN_USE_AUTOTUNE", "1").lower() not in ("0", "false")


def gpu_name() -> str:
    details = tf.config.experimental.get_device_details(tf.config.get_visible_devices("GPU")[0])
    return str(details.get("device_name", "gpu"))


def gpu_memory() -> str:
    gpu = tf.config.get_visible_devices("GPU")[0]
    grows = tf.config.experimental.get_memory_growth(gpu)
    return "taken as needed" if grows else "taken at once"

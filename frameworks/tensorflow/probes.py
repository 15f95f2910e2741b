"""Settings that TensorFlow has no getter for, read off what it computes."""

import os
import resource
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

from frameworks.contract import Setting

BYTES = 1 << 26


def process(weight: Any) -> dict[str, Setting]:
    """What holds for every network of this process, `weight` being one of them."""
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
        "denormals": denormals(weight.dtype),
        "onednn": onednn(),
        "blas": "oneDNN" if onednn() else "Eigen",  # built in, nothing else is linked
        "gpu_memory": gpu_memory() if gpu else "n/a",
        "freed_memory": freed_memory(),
    }


def denormals(dtype: Any) -> str:
    """`kept` or `flushed`; large enough that the thread pool computes its share."""
    smallest = tf.fill([1 << 20], np.finfo(dtype.as_numpy_dtype).tiny)
    halves = tf.function(lambda x: x * 0.5)(smallest)
    return {0: "flushed", len(halves): "kept"}.get(int(tf.math.count_nonzero(halves)), "mixed")


def freed_memory() -> str:
    """`kept`, if a block freed and taken again comes to cost no page faults; else `returned`."""
    fewest = min(faults() for _ in range(5))
    return "kept" if fewest < BYTES >> 22 else "returned"  # half of what huge pages would cost


def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with tf.device("CPU:0"):
        tf.zeros([BYTES], tf.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def onednn() -> bool:
    return bool(_pywrap_util_port.IsMklEnabled())


def cudnn_autotune() -> bool:
    """TensorFlow's own switch for it is this variable."""
    return os.environ.get("TF_CUDNN_USE_AUTOTUNE", "1").lower() not in ("0", "false")


def gpu_name() -> str:
    details = tf.config.experimental.get_device_details(tf.config.get_visible_devices("GPU")[0])
    return str(details.get("device_name", "gpu"))


def gpu_memory() -> str:
    gpu = tf.config.get_visible_devices("GPU")[0]
    grows = tf.config.experimental.get_memory_growth(gpu)
    return "taken as needed" if grows else "taken at once"

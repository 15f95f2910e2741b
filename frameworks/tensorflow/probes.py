"""Settings that TensorFlow has no getter for, read off its graphs and what it computes."""

import os
import resource
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

SPATIAL = ("Conv2D", "MaxPool", "AvgPool")
BYTES = 1 << 26


def layout(network: Any, images: Any) -> str:
    """The data format of the network's operations, traced."""
    traced = tf.function(lambda x: network(x, training=True)).get_concrete_function(images)
    operations = [op for op in traced.graph.get_operations() if op.type in SPATIAL]
    return "/".join(sorted({op.get_attr("data_format").decode() for op in operations})) or "n/a"


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

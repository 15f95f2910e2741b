"""The settings that TensorFlow keeps for the whole process: visible GPUs and threads."""

from typing import Any

import tensorflow as tf


def see_only(gpus: list[Any]) -> None:
    """Hide all other GPUs, and take memory of these GPUs only when it is needed."""
    if tf.config.get_visible_devices("GPU") != gpus:
        tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        if not tf.config.experimental.get_memory_growth(gpu):
            tf.config.experimental.set_memory_growth(gpu, True)


def use_threads(count: int) -> None:
    threading = tf.config.threading
    if threading.get_intra_op_parallelism_threads() != count:
        threading.set_intra_op_parallelism_threads(count)
    if threading.get_inter_op_parallelism_threads() != count:
        threading.set_inter_op_parallelism_threads(count)

"""The settings that TensorFlow keeps for the whole process: visible GPUs, threads, and how many
logical processors share them."""

import os
from typing import Any

import tensorflow as tf

PROCESSORS = "SAMESTEP_LOGICAL_PROCESSORS"  # the environment variable of a variant that has several


def see_only(gpus: list[Any]) -> None:
    """Hide all other GPUs, and take memory of these GPUs only when it is needed."""
    if tf.config.get_visible_devices("GPU") != gpus:
        tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        if not tf.config.experimental.get_memory_growth(gpu):
            tf.config.experimental.set_memory_growth(gpu, True)


def use_threads(count: int) -> None:
    threading, processors = tf.config.threading, int(os.environ.get(PROCESSORS, "1"))
    (cpu,) = tf.config.list_physical_devices("CPU")
    if processors > 1 and not tf.config.get_logical_device_configuration(cpu):
        each = [tf.config.LogicalDeviceConfiguration()] * processors
        tf.config.set_logical_device_configuration(cpu, each)
    inside = max(count // processors, 1)
    if threading.get_intra_op_parallelism_threads() != inside:
        threading.set_intra_op_parallelism_threads(inside)
    if threading.get_inter_op_parallelism_threads() != count:
        threading.set_inter_op_parallelism_threads(count)

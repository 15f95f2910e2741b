"""The TensorFlow adapter: puts the process into the conditions, and picks a variant's trainer."""

import tensorflow as tf

from frameworks.contract import Adapter, Conditions, Trainer, Unavailable
from frameworks.tensorflow import parts, pitfalls
from frameworks.tensorflow.compilation import XLA, Eager
from frameworks.tensorflow.process import see_only, use_threads
from frameworks.tensorflow.trainer import TensorFlowTrainer
from frameworks.tensorflow.workers.mirrored import TwoWorkers
from frameworks.workloads import Weights, Workload

# TensorFlowTrainer itself trains the others, and refuses unknown names.
TRAINERS: dict[str, type[TensorFlowTrainer]] = {
    "eager": Eager, "xla": XLA, "two-workers": TwoWorkers, **parts.PARTS, **pitfalls.PITFALLS,
}  # fmt: skip


class TensorFlowAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        gpus = tf.config.list_physical_devices("GPU")
        if not conditions.on_host and not gpus:
            build = "" if tf.test.is_built_with_cuda() else " (this build has no CUDA)"
            raise Unavailable(f"TensorFlow {tf.__version__} sees no GPU{build}")
        try:
            see_only([] if conditions.on_host else gpus[:1])
            use_threads(conditions.threads)
        except RuntimeError as error:
            raise Unavailable(f"TensorFlow started under other conditions: {error}") from None
        tf.config.experimental.enable_tensor_float_32_execution(conditions.tf32)
        self._conditions = conditions

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        conditions = self._conditions.in_format(variant)
        pitfalls.forget(conditions)
        return TRAINERS.get(variant, TensorFlowTrainer)(workload, weights, conditions, variant)

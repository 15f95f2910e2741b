"""The TensorFlow adapter: puts the process into the conditions, and picks a variant's trainer. It
performs single operations itself, and has TensorFlow's own loader."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from frameworks.contract import (
    SETTINGS,
    Adapter,
    Conditions,
    Deliver,
    MiniBatch,
    Setting,
    Trainer,
    Unavailable,
)
from frameworks.elementwise import ElementwiseTrainer, Operations
from frameworks.tensorflow import graphs, parts, pitfalls, settings
from frameworks.tensorflow.compilation import XLA, Eager
from frameworks.tensorflow.process import see_only, use_threads
from frameworks.tensorflow.trainer import MADE_OF, Batch, TensorFlowTrainer
from frameworks.tensorflow.workers.mirrored import TwoWorkers
from frameworks.workloads import Weights, Workload
from frameworks.workloads.layers import Fill

TRAINERS: dict[str, type[TensorFlowTrainer]] = {
    **dict.fromkeys(MADE_OF, TensorFlowTrainer), "eager": Eager, "xla": XLA,
    "two-workers": TwoWorkers,
    **parts.PARTS, **pitfalls.PITFALLS,
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
        if workload.elementwise:
            return Elementwise(workload, weights, conditions, variant)
        pitfalls.forget(conditions)
        return TRAINERS[variant](workload, weights, conditions, variant)

    def loader(self, prepare: Callable[[int], MiniBatch], workers: int) -> Deliver:
        """A tf.data.Dataset. It has threads of its own, because those of the contender may all
        compute when `prepare` is called."""
        numbers: list[int] = []
        types = [array.dtype for array in prepare(0)]
        options = tf.data.Options()
        options.threading.private_threadpool_size = workers

        def prepared(place: Any) -> tuple[Any, Any]:
            inputs, targets = tf.numpy_function(lambda own: prepare(numbers[own]), [place], types)
            return inputs, targets

        @cache
        def dataset(count: int) -> Any:
            # As many wait in the buffer as are being prepared.
            own = tf.data.Dataset.range(count).map(prepared, num_parallel_calls=workers)
            return own.prefetch(workers).with_options(options)

        def deliver(asked: Sequence[int]) -> Iterator[MiniBatch]:
            numbers[:] = asked
            return dataset(len(asked)).as_numpy_iterator()  # type: ignore[no-any-return]

        return deliver


class Elementwise(ElementwiseTrainer):
    operations: ClassVar[Operations] = {
        "divide": tf.divide,
        "copy": lambda x, y: tf.raw_ops.DeepCopy(x=x),  # tf.identity would share the memory
        "fill": lambda x, y: tf.fill(x.shape, Fill.value),
    }

    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        super().__init__(workload, weights, conditions, variant)
        self._on_host = conditions.on_host

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        return tf.constant(inputs), tf.constant(targets)

    def synchronise(self) -> None:
        if not self._on_host:
            tf.test.experimental.sync_devices()

    def on_host(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def settings(self) -> dict[str, Setting]:
        x, _ = self.put(*np.ones((2, 1), np.float32))
        own = {"compilation": graphs.compilation(self._operation)}
        return {**dict.fromkeys(SETTINGS, "n/a"), **settings.process(x), **own}

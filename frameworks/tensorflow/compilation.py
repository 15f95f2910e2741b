"""TensorFlow's `default` with its step compiled by XLA, or not compiled."""

from typing import Any

import tensorflow as tf

from frameworks.contract import Setting
from frameworks.tensorflow.trainer import TensorFlowTrainer
from frameworks.workloads import Workload


class Eager(TensorFlowTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        super().__init__(workload, *others)
        self._workload = workload
        traced: Any = self._train_step

        def step(*batch: Any) -> Any:
            return traced.python_function(*batch)

        step.traced = traced  # type: ignore[attr-defined]
        self._train_step = step

    def settings(self) -> dict[str, Setting]:
        traced: Any = getattr(self._train_step, "traced", self._train_step)
        traced.get_concrete_function(*self.put(*self._workload.zeros()))  # to be read, not run
        return super().settings()


class XLA(TensorFlowTrainer):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        step = self._train_step.python_function  # type: ignore[attr-defined]
        self._train_step = tf.function(step, jit_compile=True)

"""The NumPy adapter. It performs single operations on one thread."""

from typing import ClassVar

import numpy as np

from frameworks import reading
from frameworks.contract import SETTINGS, Adapter, Conditions, Setting, Trainer, Unavailable
from frameworks.elementwise import ElementwiseTrainer, Operations
from frameworks.workloads import Weights, Workload
from frameworks.workloads.layers import Fill

Batch = tuple[np.ndarray, np.ndarray]


class NumPyAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        if not conditions.on_host:
            raise Unavailable("NumPy runs on the processor only")
        self._conditions = conditions

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        if not workload.elementwise:
            raise NotImplementedError("NumPy trains no network; it has single operations only")
        if self._conditions.threads > 1:
            raise Unavailable(f"NumPy's operations use one thread, not {self._conditions.threads}")
        return Elementwise(workload, weights, self._conditions, variant)


class Elementwise(ElementwiseTrainer):
    operations: ClassVar[Operations] = {
        "divide": np.divide,
        "copy": lambda x, y: x.copy(),
        "fill": lambda x, y: np.full_like(x, Fill.value),
    }

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        return inputs.copy(), targets.copy()

    def synchronise(self) -> None:
        pass  # every call returns when its work is done

    def on_host(self, result: np.ndarray) -> np.ndarray:
        return result

    def settings(self) -> dict[str, Setting]:
        result = self._operation(*self.put(*np.ones((2, 1), np.float32)))
        own: dict[str, Setting] = {
            "precision": result.dtype.name,
            "device": result.device,
            "denormals": reading.denormals(result.dtype.name, lambda numbers: numbers * 0.5),
        }
        memory = reading.memory(lambda size: np.ones(size, np.uint8))
        return {**dict.fromkeys(SETTINGS, "n/a"), **own, **memory}

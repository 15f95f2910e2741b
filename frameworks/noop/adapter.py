"""An adapter that trains nothing. Do not copy it: contract.py has the smallest real adapter."""

from typing import Any

import numpy as np

from frameworks.contract import SETTINGS, Adapter, Conditions, Setting, Trainer, Unavailable
from frameworks.workloads import Weights, Workload


class NoopAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        if not conditions.on_host:
            raise Unavailable("runs on the processor only")

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        return NoopTrainer(weights)


class NoopTrainer(Trainer):
    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Any:
        return None

    def step(self, batch: Any) -> None:
        pass

    def synchronise(self) -> None:
        pass

    def loss(self) -> float:
        return 0.0

    def weights(self) -> Weights:
        return {name: weight.copy() for name, weight in self._weights.items()}

    def restart(self, weights: Weights) -> None:
        self._weights = weights

    def settings(self) -> dict[str, Setting]:
        return dict.fromkeys(SETTINGS, "n/a")

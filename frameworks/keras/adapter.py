"""Keras on the backend that KERAS_BACKEND names. Only backends/ imports the backend itself."""

import importlib
import os
from typing import Any

from frameworks.contract import Adapter, Conditions, Trainer, Unavailable
from frameworks.keras import FRAMEWORK
from frameworks.workloads import Weights, Workload

FOLDERS = {"tensorflow": "tensorflow", "torch": "pytorch", "jax": "jax"}


class KerasAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        """The backend's own adapter puts the process into the conditions."""
        self._conditions = conditions
        self._name = os.environ.get("KERAS_BACKEND", "tensorflow")
        if self._name not in FOLDERS:
            raise Unavailable(
                f"KERAS_BACKEND is {self._name!r}, but this adapter supports {', '.join(FOLDERS)}"
            )
        try:
            self._backend: Any = importlib.import_module(f"frameworks.keras.backends.{self._name}")
        except ModuleNotFoundError as missing:
            raise Unavailable(
                f"Keras' backend {self._name} is not installed: no module {missing.name} "
                f"(pip install -r frameworks/{FOLDERS[self._name]}/requirements.txt)"
            ) from None
        self._backend.Backend.adapter(conditions)

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        # Not above: both import Keras, which fails there if its backend is not installed.
        from frameworks.keras.fitted import FitTrainer
        from frameworks.keras.trainer import KerasTrainer

        wanted = FRAMEWORK.variants[variant].variables["KERAS_BACKEND"]
        if wanted != self._name:
            raise Unavailable(
                f"Keras runs on {self._name} in this process: its variant {variant} needs one "
                f"that starts with KERAS_BACKEND={wanted}"
            )
        kind = FitTrainer if variant == "fit" else KerasTrainer
        backend = self._backend.Backend(self._conditions)
        return kind(workload, weights, backend, self._conditions.precision)

"""Keras on PyTorch."""

from typing import Any

import numpy as np
import torch

from frameworks.contract import Conditions, Setting
from frameworks.keras.backends import keep
from frameworks.pytorch import settings
from frameworks.pytorch.adapter import PyTorchAdapter
from frameworks.pytorch.trainer import TORCH_DEVICES


class Backend:
    adapter = PyTorchAdapter
    labels = "int64"

    def __init__(self, conditions: Conditions) -> None:
        keep(conditions.precision)
        self._device = TORCH_DEVICES[conditions.device]

    def tensor(self, array: np.ndarray, dtype: str) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device, getattr(torch, dtype), copy=True)

    def synchronise(self, model: Any) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()

    def settings(self, model: Any, batch: Any) -> dict[str, Setting]:
        model.make_train_function()  # as every step does; it stays if it is there
        return {
            **settings.process(model.trainable_variables[0].value.detach()),
            "compilation": settings.compilation(model.train_function),
            "debugging": settings.debugging(model),
            "input_gradient": settings.input_gradient(model, batch[0]),
        }

"""PyTorch's default step in bfloat16: forward pass and loss under autocast, as PyTorch's page on
automatic mixed precision has it. The weights and the optimiser stay in float32."""

import torch

from frameworks.contract import Conditions
from frameworks.pytorch.trainer import Batch, PyTorchTrainer
from frameworks.workloads import Weights, Workload


class BFloat16(PyTorchTrainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        super().__init__(workload, weights, conditions, "default")
        self._reduced = conditions.precision == "float32"

    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        self._optimiser.zero_grad()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._reduced):
            loss = self._loss_function(self._forward(inputs), targets)
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()

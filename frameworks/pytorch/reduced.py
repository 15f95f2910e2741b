"""PyTorch's default step in bfloat16: forward pass and loss under autocast, as PyTorch's page on
automatic mixed precision has it. The weights and the optimiser stay in float32."""

import torch

from frameworks.pytorch.trainer import Batch, PyTorchTrainer


class BFloat16(PyTorchTrainer):
    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        reduced = self._dtype == torch.float32
        self._optimiser.zero_grad()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=reduced):
            loss = self._loss_function(self._forward(inputs), targets)
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()

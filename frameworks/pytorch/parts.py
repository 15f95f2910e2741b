"""Parts of PyTorch's default step, without an update.

As in a step, the network is in training mode, autograd records the forward pass, and what it has
recorded is freed before the part ends.
"""

from frameworks.contract import Setting
from frameworks.pytorch.trainer import Batch, PyTorchTrainer
from frameworks.workloads import Weights


class Forward(PyTorchTrainer):
    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        loss = self._loss_function(self._forward(inputs), targets)
        self._loss = loss.detach()

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "optimiser": "n/a"}


class Gradient(Forward):
    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        self._optimiser.zero_grad()
        loss = self._loss_function(self._forward(inputs), targets)
        loss.backward()
        self._loss = loss.detach()

    def gradients(self) -> Weights:
        return self._network.gradients()


PARTS: dict[str, type[PyTorchTrainer]] = {"part-forward": Forward, "part-gradient": Gradient}

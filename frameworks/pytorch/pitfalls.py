"""PyTorch with one common mistake, or one default of its own, at a time.

Each pitfall changes a few lines of the default trainer, with which it is compared.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from frameworks.contract import Conditions, Unavailable
from frameworks.pytorch import optimisers
from frameworks.pytorch.compiled import Compiled
from frameworks.pytorch.trainer import Batch, PyTorchTrainer
from frameworks.workloads import Weights, Workload
from frameworks.workloads.sequences import LSTM
from frameworks.workloads.workload import pooled_first

SEED = 20161
DRAWN = (nn.Linear, nn.Conv2d, nn.BatchNorm1d, nn.BatchNorm2d, nn.Embedding, nn.LSTM)


class OwnWeights(PyTorchTrainer):
    """Weights from every layer's `reset_parameters`, after a fixed seed: other numbers than the
    canonical ones, but from the same U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)). An embedding is
    standard normal, and batch normalisation begins with a scale of 1 and a shift of 0."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        torch.manual_seed(SEED)
        for module in self._network.modules():
            if isinstance(module, DRAWN):
                module.reset_parameters()
        self._own = self._network.canonical()
        self._network.load(self._own)

    def restart(self, weights: Weights) -> None:
        super().restart(self._own)


class InputGradients(PyTorchTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        if workload.dataset.words:
            raise Unavailable(f"does not apply to {workload.name}: words have no gradient")
        super().__init__(workload, *others)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        x, y = super().put(inputs, targets)
        return x.requires_grad_(), y


class PooledFirst(PyTorchTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        swapped = pooled_first(workload)
        if swapped == workload:
            raise Unavailable(f"does not apply to {workload.name}: no ReLU before a max-pooling")
        super().__init__(swapped, *others)


class Summed(PyTorchTrainer):
    """The loss and the gradients are summed. `loss` returns the mean, to show the effect on the
    training and not the change of unit."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        super().__init__(workload, *others)
        self._loss_function = type(self._loss_function)(reduction="sum")
        self._terms = workload.zeros()[1].size

    def loss(self) -> float:
        return super().loss() / self._terms


class DoubleSoftmax(PyTorchTrainer):
    def __init__(self, workload: Workload, *others: Any) -> None:
        if workload.loss != "sparse_cross_entropy":
            raise Unavailable(f"does not apply to {workload.name}: its loss takes no logits")
        super().__init__(workload, *others)
        self._loss_function = AfterSoftmax(self._loss_function)


class AfterSoftmax(nn.Module):
    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        value: Tensor = self.loss(logits.softmax(-1), targets)
        return value


class FlushedDenormals(PyTorchTrainer):
    """What TensorFlow does on processors."""

    def __init__(self, workload: Workload, weights: Weights, conditions: Conditions, *_: Any):
        if not conditions.on_host:
            raise Unavailable("does not apply to a GPU: only processors flush denormals")
        super().__init__(workload, weights, conditions, "")
        if not torch.set_flush_denormal(True):
            raise Unavailable("this processor cannot flush denormals")


class OwnTF32(PyTorchTrainer):
    """TF32 for convolutions but not for matrix products."""

    def __init__(self, workload: Workload, weights: Weights, conditions: Conditions, *_: Any):
        conditions.require_gpu("TF32")
        super().__init__(workload, weights, conditions, "")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = True


class Autotuned(PyTorchTrainer):
    def __init__(self, workload: Workload, weights: Weights, conditions: Conditions, *_: Any):
        conditions.require_gpu("cuDNN")
        super().__init__(workload, weights, conditions, "")
        torch.backends.cudnn.benchmark = True


class Unsynchronised(PyTorchTrainer):
    """On a processor it changes nothing, because each call returns when its work is done."""

    def synchronise(self) -> None:
        pass


class TwoBiases(PyTorchTrainer):
    """Both biases of each LSTM are trained, as nn.LSTM has it. They get the same updates, so their
    sum moves twice as fast. `weights` gives the first one."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        if not any(isinstance(layer, LSTM) for layer in workload.layers):
            raise Unavailable(f"does not apply to {workload.name}: it has no lstm")
        super().__init__(workload, *others)
        self._network.requires_grad_(True)
        parameters = self._network.parameters()
        self._optimiser = optimisers.build(workload.optimiser, parameters, fast=False)


def forget(conditions: Conditions) -> None:
    """Undo what a pitfall's trainer has set for the whole process, before another is built."""
    torch.set_flush_denormal(False)
    torch.backends.cuda.matmul.allow_tf32 = conditions.tf32
    torch.backends.cudnn.allow_tf32 = conditions.tf32


PITFALLS: dict[str, type[PyTorchTrainer]] = {
    "trap-weights": OwnWeights,
    "trap-input-gradients": InputGradients,
    "trap-pooled-first": PooledFirst,
    "trap-summed-loss": Summed,
    "trap-double-softmax": DoubleSoftmax,
    "trap-denormals": FlushedDenormals,
    "trap-tf32": OwnTF32,
    "trap-autotune": Autotuned,
    "trap-unsynchronised": Unsynchronised,
    "trap-unread": Unsynchronised,
    "trap-two-biases": TwoBiases,
    "trap-compiled": Compiled,
}

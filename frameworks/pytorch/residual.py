"""The layers of residual networks as PyTorch modules."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from frameworks.workloads.layers import Shape
from frameworks.workloads.residual import BatchNorm, Subsample


class Sum(nn.Module):
    """Two chains of modules, whose outputs are added."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.body(x) + self.shortcut(x)
        return total


class Subsampled(nn.Module):
    def __init__(self, layer: Subsample, shape: Shape) -> None:
        super().__init__()
        self.stride, self.zeros = layer.stride, layer.channels - shape[2]

    def forward(self, images: Tensor) -> Tensor:
        kept = images[:, :, :: self.stride, :: self.stride]
        return nn.functional.pad(kept, (0, 0, 0, 0, 0, self.zeros))


def batch_norm(layer: BatchNorm, shape: Shape) -> nn.Module:
    kind = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
    return kind(shape[-1], eps=layer.epsilon, momentum=layer.momentum)


def state(network: nn.Module) -> list[Tensor]:
    """Running means and variances, without the count of steps that PyTorch keeps beside them."""
    return [buffer for buffer in network.buffers() if buffer.is_floating_point()]


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """What is computed inside leaves no trace in running means and variances."""
    before = [buffer.clone() for buffer in network.buffers()]
    yield
    with torch.no_grad():
        for buffer, value in zip(network.buffers(), before, strict=True):
            buffer.copy_(value)

"""Sequences in PyTorch: the LSTM, which of its biases is trained, and the loss over time."""

import torch
from torch import Tensor, nn

SECOND_BIAS = "bias_hh_l0"


class LSTM(nn.Module):
    """The output of every step, from a state of zeros.

    PyTorch's LSTM adds two biases. Ours is loaded into the first one. The second stays zero and is
    not trained, because the sum of two trained biases moves twice as fast.
    """

    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(features, units, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad_(False)

    def forward(self, sequences: Tensor) -> Tensor:
        outputs: Tensor = self.lstm(sequences)[0]
        return outputs


def trained(network: nn.Module) -> list[nn.Parameter]:
    """The parameters in the workload's order: all but second biases."""
    return [p for name, p in network.named_parameters() if not name.endswith(SECOND_BIAS)]


@torch.no_grad()
def clear_second_biases(network: nn.Module) -> None:
    for name, parameter in network.named_parameters():
        if name.endswith(SECOND_BIAS):
            parameter.zero_()


class OverTime(nn.CrossEntropyLoss):
    """Of every step: PyTorch's own wants the classes before the time."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return super().forward(input.flatten(0, 1), target.flatten())

"""The published optimisers in torch.optim, whose formulas are the published ones."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from frameworks.contract import Setting
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop


def build(
    optimiser: Optimiser, parameters: Iterable[nn.Parameter], fast: bool
) -> torch.optim.Optimizer:
    """`fast` uses the fused implementation, or `foreach` if PyTorch has no fused one."""
    fused: dict[str, Any] = {"fused": True} if fast else {}
    foreach: dict[str, Any] = {"foreach": True} if fast else {}
    match optimiser:
        case SGD(rate):
            return torch.optim.SGD(parameters, lr=rate, **fused)
        case Momentum(rate, momentum):
            return torch.optim.SGD(parameters, lr=rate, momentum=momentum, **fused)
        case RMSprop(rate, decay, epsilon):
            return torch.optim.RMSprop(parameters, lr=rate, alpha=decay, eps=epsilon, **foreach)
        case Adam(rate, beta1, beta2, epsilon):
            betas = (beta1, beta2)
            return torch.optim.Adam(parameters, lr=rate, betas=betas, eps=epsilon, **fused)
    raise NotImplementedError(f"PyTorch adapter: no optimiser of kind {optimiser.kind!r}")


NAMES = {"lr": "learning_rate", "momentum": "momentum", "alpha": "decay", "eps": "epsilon"}


def settings(optimiser: torch.optim.Optimizer) -> dict[str, Setting]:
    """The implementation and its numbers in effect, under the workload's names."""
    group = optimiser.param_groups[0]
    flags = ", ".join(f"{flag}={group[flag]}" for flag in ("foreach", "fused") if flag in group)
    found: dict[str, Setting] = {"optimiser": f"torch.optim.{type(optimiser).__name__}({flags})"}
    found |= {name: group[key] for key, name in NAMES.items() if key in group}
    if "betas" in group:
        found["beta1"], found["beta2"] = group["betas"]
    return found

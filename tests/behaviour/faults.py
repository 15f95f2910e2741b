"""PyTorch's adapter with one fault at a time, planted into a trainer that is right."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from frameworks.contract import Adapter, Trainer
from frameworks.workloads import Weights, Workload
from tests.adapters.training import started

Fault = Callable[[Any], None]


class Planted(Adapter):
    def __init__(self, fault: Fault) -> None:
        self.fault, self.sound = fault, started("pytorch", "cpu", "float32")

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        trainer = self.sound.trainer(workload, weights, variant)
        self.fault(trainer)
        return trainer


def loss_is(function: Callable[..., Any]) -> Fault:
    """`function(outputs, targets)` in place of the loss."""
    return lambda trainer: setattr(trainer, "_loss_function", function)


def optimiser_has(**numbers: float | bool) -> Fault:
    def plant(trainer: Any) -> None:
        for group in trainer._optimiser.param_groups:
            group.update({name: number for name, number in numbers.items() if name in group})

    return plant


def rate_times(factor: float) -> Fault:
    def plant(trainer: Any) -> None:
        for group in trainer._optimiser.param_groups:
            group["lr"] *= factor

    return plant


def updates_with(update: Callable[[Any, dict[str, Any], Any], None]) -> Fault:
    """`update(parameter, state, group)` in place of the optimiser's."""

    def plant(trainer: Any) -> None:
        optimiser = trainer._optimiser

        @torch.no_grad()
        def step() -> None:
            for group in optimiser.param_groups:
                for parameter in group["params"]:
                    update(parameter, optimiser.state[parameter], group)

        optimiser.step = step

    return plant


def rmsprop_inside(w: Any, state: dict[str, Any], group: Any) -> None:
    v = state.get("v", torch.zeros_like(w))
    state["v"] = v = group["alpha"] * v + (1 - group["alpha"]) * w.grad**2
    w -= group["lr"] * w.grad / torch.sqrt(v + group["eps"])


def adam_before_correction(w: Any, state: dict[str, Any], group: Any) -> None:
    beta1, beta2 = group["betas"]
    t = state["t"] = state.get("t", 0) + 1
    m, v = (state.get(name, torch.zeros_like(w)) for name in "mv")
    state["m"] = m = beta1 * m + (1 - beta1) * w.grad
    state["v"] = v = beta2 * v + (1 - beta2) * w.grad**2
    rate = group["lr"] * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
    w -= rate * m / (v.sqrt() + group["eps"])


def no_bias_correction(w: Any, state: dict[str, Any], group: Any) -> None:
    beta1, beta2 = group["betas"]
    m, v = (state.get(name, torch.zeros_like(w)) for name in "mv")
    state["m"] = m = beta1 * m + (1 - beta1) * w.grad
    state["v"] = v = beta2 * v + (1 - beta2) * w.grad**2
    w -= group["lr"] * m / (v.sqrt() + group["eps"])


def remembers(trainer: Any) -> None:
    trainer.restart = trainer._network.load


def stale_gradients(trainer: Any) -> None:
    trainer._optimiser.zero_grad = lambda: None


def skips_updates(trainer: Any) -> None:
    step, calls = trainer._optimiser.step, iter(range(10**6))
    trainer._optimiser.step = lambda: step() if next(calls) % 2 == 0 else None


def draws_its_own(trainer: Any) -> None:
    for parameter in trainer._network.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)


def rounds_its_weights(trainer: Any) -> None:
    for parameter in trainer._network.parameters():
        parameter.data = parameter.data.bfloat16().float()


def labels_off_by_one(trainer: Any) -> None:
    put = trainer.put
    trainer.put = lambda inputs, targets: put(inputs, (targets + 1) % 3)


def loss_after_the_update(trainer: Any) -> None:
    step = trainer.step

    def late(batch: Any) -> None:
        step(batch)
        trainer._loss = trainer._loss_function(trainer._network(batch[0]), batch[1]).detach()

    trainer.step = late


def keeps_the_array(trainer: Any) -> None:
    trainer.put = lambda x, y: (torch.from_numpy(x), torch.from_numpy(y).to(trainer._target_dtype))


def pads_both_sides(trainer: Any) -> None:
    for place, module in enumerate(trainer._network):
        if isinstance(module, nn.Sequential):  # zeros, then the convolution
            convolution = module[1]
            convolution.padding = (1, 1)
            trainer._network[place] = nn.Sequential(nn.Identity(), convolution)


def kernel(change: Callable[[Any], Any]) -> Fault:
    def plant(trainer: Any) -> None:
        for parameter in trainer._network.parameters():
            if parameter.dim() == 4:
                parameter.data = change(parameter.data).contiguous()

    return plant


def products_of(round_: Callable[[Any], Any]) -> Fault:
    """The inputs of all dense and convolution layers rounded."""

    def plant(trainer: Any) -> None:
        for module in trainer._network.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                module.register_forward_pre_hook(lambda _, inputs: (round_(inputs[0]),))

    return plant


def tf32(value: Any) -> Any:
    """13 of float32's 23 bits cut off, as a tensor core does."""
    return torch.from_numpy((value.numpy().view(np.int32) & ~0x1FFF).view(np.float32).copy())


def bfloat16(value: Any) -> Any:
    return value.bfloat16().float()


def keeps_float64(trainer: Any) -> None:
    trainer._network.double()
    trainer._dtype = trainer._target_dtype = torch.float64
    weights = trainer.weights
    trainer.weights = lambda: {n: w.astype(np.float32) for n, w in weights().items()}

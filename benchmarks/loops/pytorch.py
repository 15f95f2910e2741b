"""The loops in PyTorch. oneDNN's convolution with a ReLU in it would be faster, but does not
support float64, so no certificate could cover it."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.loops.descriptions import block_starts, is_perceptron, pooled
from frameworks.contract import Conditions, Trainer
from frameworks.pytorch.adapter import PyTorchAdapter
from frameworks.pytorch.trainer import Batch, PyTorchTrainer
from frameworks.workloads import Weights, Workload
from frameworks.workloads.optimisers import Adam

aten = torch.ops.aten
BLOCK = 2 * 2**20  # bytes of a kernel for each thread: what stays in a core's own cache


class LoopAdapter(PyTorchAdapter):
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        build = Blocks if is_perceptron(workload) else Pooled
        return build(workload, weights, self._conditions, "tuned")


class Pooled(PyTorchTrainer):
    """`tuned`, with each ReLU and the pooling after it in one operation."""

    def __init__(self, workload: Workload, *others: Any) -> None:
        super().__init__(workload, *others)
        for index in range(len(workload.layers)):
            if pool := pooled(workload, index):
                self._network[index] = ReLUPool(nn.ReLU(), nn.MaxPool2d(pool.size, pool.step))
                self._network[index + 1] = nn.Identity()


class ReLUPool(nn.Sequential):
    """A window's maximum is positive exactly if its pooled value is."""

    def forward(self, images: Tensor) -> Tensor:
        pool = self[1]
        found: Tensor = PooledReLU.apply(images, [pool.kernel_size] * 2, [pool.stride] * 2)
        return found


class PooledReLU(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, images: Tensor, size: list[int], step: list[int]) -> Tensor:
        images.relu_()
        values, places = aten.max_pool2d_with_indices(images, size, step)
        context.save_for_backward(images, values, places)
        context.window = size, step, [0, 0], [1, 1], False
        return values  # type: ignore[no-any-return]

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        images, values, places = context.saved_tensors
        gradient = aten.threshold_backward(gradient, values, 0)
        window = context.window
        spread = aten.max_pool2d_with_indices_backward(gradient, images, *window, places)
        return spread, None, None


class Blocks(PyTorchTrainer):
    """No autograd: a block's gradient is applied while it is in the cache, and never in memory."""

    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        super().__init__(workload, weights, conditions, variant)
        self._published = workload.optimiser
        self._dense = [one for one in self._network if isinstance(one, nn.Linear)]
        self._slots = [
            [torch.zeros_like(value.detach()) for _ in range(2)]
            for one in self._dense
            for value in (one.weight, one.bias)
        ]
        self._steps = torch.zeros((), dtype=torch.float32)
        self._blocks = []
        for place, one in enumerate(self._dense):
            rows, width = one.weight.shape
            size = BLOCK * conditions.threads
            starts = block_starts(rows, width * one.weight.element_size(), size)
            room = torch.empty(starts[0][1], width, dtype=self._dtype)
            weight, slots = one.weight.detach(), self._slots[2 * place]
            self._blocks.append(
                [
                    (a, b, room[: b - a], weight[a:b], [slot[a:b] for slot in slots])
                    for a, b in starts
                ]
            )

    @torch.no_grad()
    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        given = [inputs]
        for one in self._dense[:-1]:
            given.append(functional.linear(given[-1], one.weight, one.bias).relu_())
        last = self._dense[-1]
        error = functional.linear(given[-1], last.weight, last.bias).sub_(targets)
        self._loss = error.square().mean()
        gradient = error.mul_(2 / error.numel())
        self._steps += 1
        for place in reversed(range(len(self._dense))):
            one, own = self._dense[place], given[place]
            below = gradient @ one.weight if place else None
            self.update(one.bias.detach(), gradient.sum(0), self._slots[2 * place + 1])
            for a, b, room, weight, slots in self._blocks[place]:
                torch.mm(gradient[:, a:b].t(), own, out=room)
                self.update(weight, room, slots)
            if below is not None:
                gradient = aten.threshold_backward(below, own, 0)

    def update(self, weight: Tensor, gradient: Tensor, slots: list[Tensor]) -> None:
        spec = self._published
        if isinstance(spec, Adam):
            mean, square = slots
            torch._fused_adam_(
                [weight], [gradient], [mean], [square], [], [self._steps],
                lr=spec.learning_rate, beta1=spec.beta1, beta2=spec.beta2, weight_decay=0.0,
                eps=spec.epsilon, amsgrad=False, maximize=False,
            )  # fmt: skip
        else:
            weight.sub_(gradient, alpha=spec.learning_rate)  # type: ignore[attr-defined]

    def restart(self, weights: Weights) -> None:
        super().restart(weights)
        for slots in self._slots:
            for slot in slots:
                slot.zero_()
        self._steps.zero_()

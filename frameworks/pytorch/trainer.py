"""A PyTorch network, run eagerly. Every variant trains with this class or a subclass of it."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from frameworks.contract import Conditions, Setting, Trainer
from frameworks.pytorch import optimisers, settings
from frameworks.pytorch.network import Network, trained, undisturbed
from frameworks.pytorch.profiling import profiler
from frameworks.workloads import Weights, Workload, leaves
from frameworks.workloads.layers import Conv2D

Batch = tuple[Tensor, Tensor]
TORCH_DEVICES = {"cpu": "cpu", "gpu": "cuda"}
# What each variant changes here; memory and pages only set environment variables. Variants that are
# not listed have a trainer of their own, which changes the default.
CHANGES: dict[str, tuple[str, ...]] = {
    "default": (),
    "memory": (),
    "pages": (),
    "fused": ("fused",),
    "layout": ("fused", "channels last"),
    "tuned": ("fused", "channels last", "ReLU in place"),
    "tf32": (),  # a setting of the process
}


BLOCK = 16  # channels that oneDNN takes at once; 8 on processors without AVX-512


def overruns(workload: Workload) -> bool:
    """Whether oneDNN would crash the process, or give wrong gradients: with channels last it writes
    past its memory in a convolution of 1 x 1 with a stride, if channels are fewer than it takes at
    once (github.com/uxlfoundation/oneDNN/issues/6035)."""
    return any(
        isinstance(stage.layer, Conv2D)
        and stage.layer.kernel == 1 < stage.layer.stride
        and stage.input_shape[-1] < BLOCK
        for stage in leaves(workload.stages)
    )


class PyTorchTrainer(Trainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        changes = CHANGES.get(variant, ())
        self._device = torch.device(TORCH_DEVICES[conditions.device])
        self._dtype: torch.dtype = getattr(torch, conditions.precision)
        last = "channels last" in changes and not (conditions.on_host and overruns(workload))
        self._format = torch.channels_last if last else torch.contiguous_format
        self._shape = workload.dataset.shape
        # TensorFlow tries cuDNN's algorithms by default; so does PyTorch's tuned.
        torch.backends.cudnn.benchmark = variant == "tuned"

        network = Network(workload, last, in_place="ReLU in place" in changes)
        self._network = network.to(self._dtype).to_empty(device=self._device)
        # PyTorch's annotations omit memory_format.
        self._network.to(memory_format=self._format)  # type: ignore[call-overload]
        self._network.load(weights)
        self._network.train()
        self._forward: Callable[[Tensor], Tensor] = self._network
        self._input_dtype = torch.int64 if workload.dataset.words else self._dtype
        self._loss_function: nn.Module = nn.MSELoss()
        self._target_dtype = self._dtype
        if workload.loss == "sparse_cross_entropy":
            self._loss_function = OverTime() if workload.target_shape else nn.CrossEntropyLoss()
            self._target_dtype = torch.int64
        fused = "fused" in changes
        self._optimiser = optimisers.build(workload.optimiser, trained(self._network), fused)
        self._loss: Tensor | None = None

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        x, y = torch.from_numpy(inputs), torch.from_numpy(targets)
        layout = torch.contiguous_format
        if x.dim() == 4:
            x, layout = x.permute(0, 3, 1, 2), self._format
        return (
            x.to(self._device, self._input_dtype, copy=True, memory_format=layout),
            y.to(self._device, self._target_dtype, copy=True),
        )

    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        self._optimiser.zero_grad()
        loss = self._loss_function(self._forward(inputs), targets)
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()

    def synchronise(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def loss(self) -> float:
        assert self._loss is not None, "no step taken yet"
        return self._loss.item()

    def weights(self) -> Weights:
        return self._network.canonical()

    def restart(self, weights: Weights) -> None:
        self._network.load(weights)
        self._optimiser.zero_grad()
        self._optimiser.state.clear()  # the next step makes it again, from zeros
        self._loss = None

    def profile(self, run: Callable[[], None]) -> dict[str, float]:
        return profiler.seconds(run)

    def settings(self) -> dict[str, Setting]:
        weight = next(self._network.parameters()).detach()
        images, _ = self.put(np.zeros((2, *self._shape), np.float32), np.zeros(2, np.float32))
        with undisturbed(self._network):
            return {
                **settings.process(weight),
                "layout": settings.layout(self._network, images),
                "compilation": settings.compilation(self._forward),
                "debugging": settings.debugging(self._network),
                "mode": settings.mode(self._network),
                "input_gradient": settings.input_gradient(self._network, images),
                "relu_and_pool": settings.relu_and_pool(self._network),
                **optimisers.settings(self._optimiser),
            }


class OverTime(nn.CrossEntropyLoss):
    """The cross-entropy of every step. PyTorch's own wants the classes before the time."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return super().forward(input.flatten(0, 1), target.flatten())


class BFloat16(PyTorchTrainer):
    """The default step in bfloat16: forward pass and loss under autocast, as PyTorch's page on
    automatic mixed precision has it. Weights and optimiser stay in float32."""

    def step(self, batch: Batch) -> None:
        inputs, targets = batch
        reduced = self._dtype == torch.float32
        self._optimiser.zero_grad()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=reduced):
            loss = self._loss_function(self._forward(inputs), targets)
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()

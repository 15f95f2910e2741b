"""The PyTorch adapter: puts the process into the conditions, and picks a variant's trainer. It
performs single operations itself, and has PyTorch's own loader."""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from frameworks.contract import (
    AHEAD,
    SETTINGS,
    Adapter,
    Conditions,
    Deliver,
    MiniBatch,
    Setting,
    Trainer,
    Unavailable,
)
from frameworks.elementwise import ElementwiseTrainer, Operations
from frameworks.pytorch import parts, pitfalls, settings
from frameworks.pytorch.compiled import Compiled
from frameworks.pytorch.trainer import CHANGES, TORCH_DEVICES, Batch, BFloat16, PyTorchTrainer
from frameworks.pytorch.workers.first import TwoWorkers
from frameworks.workloads import Weights, Workload
from frameworks.workloads.layers import Fill

TRAINERS: dict[str, type[PyTorchTrainer]] = {
    **dict.fromkeys(CHANGES, PyTorchTrainer), "compile": Compiled, "bfloat16": BFloat16,
    "two-workers": TwoWorkers,
    **parts.PARTS, **pitfalls.PITFALLS,
}  # fmt: skip


class PyTorchAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        if not conditions.on_host and not torch.cuda.is_available():
            build = "" if torch.version.cuda else " (this build has no CUDA)"
            raise Unavailable(f"PyTorch {torch.__version__} sees no GPU{build}")
        torch.set_num_threads(conditions.threads)
        if torch.get_num_interop_threads() != conditions.threads:
            try:
                torch.set_num_interop_threads(conditions.threads)
            except RuntimeError as error:
                raise Unavailable(f"PyTorch started under other conditions: {error}") from None
        torch.backends.cuda.matmul.allow_tf32 = conditions.tf32
        torch.backends.cudnn.allow_tf32 = conditions.tf32
        self._conditions = conditions

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        conditions = self._conditions.in_format(variant)
        if workload.elementwise:
            return Elementwise(workload, weights, conditions, variant)
        pitfalls.forget(conditions)
        return TRAINERS[variant](workload, weights, conditions, variant)

    def loader(self, prepare: Callable[[int], MiniBatch], workers: int) -> Deliver:
        """A DataLoader whose items are mini-batches, because they lie in one piece: PyTorch's
        documentation then has no batch size ("Loading Batched and Non-Batched Data")."""
        numbers: list[int] = []
        own = DataLoader(
            MiniBatches(prepare),
            batch_size=None,
            sampler=numbers,
            num_workers=workers,
            prefetch_factor=AHEAD,  # which is the default
            persistent_workers=True,
        )

        def deliver(asked: Sequence[int]) -> Iterator[MiniBatch]:
            numbers[:] = asked
            return ((inputs.numpy(), targets.numpy()) for inputs, targets in iter(own))

        return deliver


class MiniBatches(Dataset[MiniBatch]):
    def __init__(self, prepare: Callable[[int], MiniBatch]) -> None:
        self._prepare = prepare

    def __getitem__(self, number: int) -> MiniBatch:
        return self._prepare(number)


class Elementwise(ElementwiseTrainer):
    operations: ClassVar[Operations] = {
        "divide": torch.div,
        "copy": lambda x, y: x.clone(),
        "fill": lambda x, y: torch.full_like(x, Fill.value),
    }

    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        super().__init__(workload, weights, conditions, variant)
        self._device = torch.device(TORCH_DEVICES[conditions.device])

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        x, y = (torch.from_numpy(one).to(self._device, copy=True) for one in (inputs, targets))
        return x, y

    def synchronise(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def on_host(self, result: Tensor) -> np.ndarray:
        found: np.ndarray = result.cpu().numpy()
        return found

    def settings(self) -> dict[str, Setting]:
        x, _ = self.put(*np.ones((2, 1), np.float32))
        own: dict[str, Setting] = {
            "compilation": settings.compilation(self._operation),
            "to_same_device": settings.written_through(x, x.device),
        }
        if x.is_cuda:
            own["to_another_device"] = settings.written_through(x, torch.device("cpu"))
        return {**dict.fromkeys(SETTINGS, "n/a"), **settings.process(x), **own}

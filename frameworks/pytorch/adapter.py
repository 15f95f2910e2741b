"""The PyTorch adapter: puts the process into the conditions, and picks a variant's trainer."""

import torch

from frameworks.contract import Adapter, Conditions, Trainer, Unavailable
from frameworks.pytorch import parts, pitfalls
from frameworks.pytorch.compiled import Compiled
from frameworks.pytorch.reduced import BFloat16
from frameworks.pytorch.trainer import PyTorchTrainer
from frameworks.pytorch.workers.first import TwoWorkers
from frameworks.workloads import Weights, Workload

# PyTorchTrainer itself trains the others, and refuses unknown names.
TRAINERS: dict[str, type[PyTorchTrainer]] = {
    "compile": Compiled, "bfloat16": BFloat16, "two-workers": TwoWorkers,
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
        pitfalls.forget(conditions)
        return TRAINERS.get(variant, PyTorchTrainer)(workload, weights, conditions, variant)

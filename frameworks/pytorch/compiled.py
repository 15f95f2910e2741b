"""PyTorch's `default`, its network compiled by torch.compile."""

import sysconfig
from pathlib import Path

import torch

from frameworks.contract import Conditions, Setting, Unavailable
from frameworks.pytorch.trainer import PyTorchTrainer
from frameworks.workloads import Weights, Workload


class Compiled(PyTorchTrainer):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        require_compiler()
        super().__init__(workload, weights, conditions, "default")
        # After eight networks of other shapes PyTorch would silently go on without compiling,
        # and after the second leave sizes open.
        torch.compiler.reset()
        self._forward = torch.compile(self._network)

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "compilation": "torch.compile"}


def require_compiler() -> None:
    """Raise Unavailable where torch.compile would fail at its first step, on a GPU too: what
    launches the kernels is compiled here."""
    # Not above: every PyTorch process reads this file, and these cost a second.
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise Unavailable(
            "torch.compile needs a C++ compiler and found none: install g++, or name one in the "
            "environment variable CXX"
        ) from None
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise Unavailable(f"torch.compile needs Python's headers: {header} is not there")

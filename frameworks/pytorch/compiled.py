"""PyTorch's `default` with its network compiled by torch.compile."""

import sysconfig
from pathlib import Path
from typing import Any

import torch

from frameworks.contract import Unavailable
from frameworks.pytorch.trainer import PyTorchTrainer


class Compiled(PyTorchTrainer):
    def __init__(self, *arguments: Any) -> None:
        require_compiler()
        super().__init__(*arguments)
        # Without a reset PyTorch compiles the second network for open sizes, and silently stops
        # compiling after eight networks.
        torch.compiler.reset()
        self._forward = torch.compile(self._network)


def require_compiler() -> None:
    """Raise Unavailable if torch.compile would fail at its first step.

    A GPU needs the compiler, too: the code that launches its kernels is compiled here.
    """
    # Not above, because every PyTorch process imports this file, and these imports take a second.
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

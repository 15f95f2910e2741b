"""Settings that PyTorch has no single getter for, some read off what it computes."""

import re

import torch
from torch import Tensor, nn


@torch.no_grad()
def layout(network: nn.Sequential, value: Tensor) -> str:
    """The strides of the first activation that has more than one channel."""
    for module in network:
        if value.dim() != 4:
            break
        if value.shape[1] > 1:
            return "NHWC" if value.stride(1) == 1 else "NCHW"
        value = module(value)
    return "n/a"


def denormals(like: Tensor) -> str:
    """`kept` or `flushed`; large enough that the thread pool computes its share."""
    smallest = torch.finfo(like.dtype).tiny
    halves = torch.full((1 << 20,), smallest, dtype=like.dtype, device=like.device) * 0.5
    return {0: "flushed", len(halves): "kept"}.get(int(torch.count_nonzero(halves)), "mixed")


def onednn() -> bool:
    mkldnn = torch.backends.mkldnn
    return bool(mkldnn.is_available() and mkldnn.enabled)  # type: ignore[no-untyped-call]


def blas() -> str:
    """As the build says of itself: `mkl`, `open`, `accelerate`."""
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found[1] if found else "unknown"

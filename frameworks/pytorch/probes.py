"""Settings that PyTorch has no single getter for, some read off what it computes."""

import re
from itertools import pairwise

import torch
from torch import Tensor, nn

from frameworks.contract import Setting
from frameworks.pytorch import memory

POOLS = (nn.MaxPool2d, nn.AvgPool2d)


def process(weight: Tensor) -> dict[str, Setting]:
    """What holds for every network of this process, `weight` being one of them."""
    return {
        "precision": str(weight.dtype).removeprefix("torch."),
        "device": torch.cuda.get_device_name(weight.device) if weight.is_cuda else "cpu",
        "intra_threads": torch.get_num_threads(),
        "inter_threads": torch.get_num_interop_threads(),
        "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
        "tf32_convolution": torch.backends.cudnn.allow_tf32,
        "cudnn_autotune": torch.backends.cudnn.benchmark if weight.is_cuda else "n/a",
        "denormals": denormals(weight),
        "onednn": onednn(),
        "blas": blas(),
        "gpu_memory": gpu_memory() if weight.is_cuda else "n/a",
        "freed_memory": memory.freed(),
    }


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


def mode(network: nn.Module) -> str:
    """Of every module, since each keeps its own."""
    modes = {"training" if module.training else "inference" for module in network.modules()}
    return " and ".join(sorted(modes))


def input_gradient(network: nn.Module, value: Tensor) -> str:
    """Whether a backward pass through the network ends at its input too, `value` being as
    the training step gets it."""
    left, found = [network(value).grad_fn], set()
    while left:
        node = left.pop()
        if node is not None and node not in found:
            found.add(node)
            left += [following for following, _ in node.next_functions]
    weights = {id(parameter) for parameter in network.parameters()}
    leaves = {id(node.variable) for node in found if hasattr(node, "variable")}
    return "computed" if leaves - weights else "not computed"


def relu_and_pool(network: nn.Module) -> str:
    """The order of the two, wherever they are neighbours."""
    kinds = ["relu" if isinstance(m, nn.ReLU) else "pool" if isinstance(m, POOLS) else ""
             for m in network.modules() if not list(m.children())]  # fmt: skip
    pairs = set(pairwise(kinds))
    orders = [f"{one} first" for one, other in sorted(pairs) if {one, other} == {"relu", "pool"}]
    return " and ".join(orders) or "n/a"


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


def gpu_memory() -> str:
    return f"taken as needed, {torch.cuda.get_allocator_backend()} allocator"

"""Settings in effect in PyTorch, read from the process and from a network."""

import inspect
import os
import re
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from frameworks import reading
from frameworks.contract import Setting

POOLS = (nn.MaxPool2d, nn.AvgPool2d)
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def process(weight: Tensor) -> dict[str, Setting]:
    """Settings that hold for every network of this process; `weight` is of any of them."""
    return {
        "precision": str(weight.dtype).removeprefix("torch."),
        "device": device_name(weight.device),
        "intra_threads": torch.get_num_threads(),
        "inter_threads": torch.get_num_interop_threads(),
        "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
        "tf32_convolution": torch.backends.cudnn.allow_tf32,
        "cudnn_autotune": torch.backends.cudnn.benchmark if weight.is_cuda else "n/a",
        "denormals": denormals(weight),
        "onednn": onednn(),
        "blas": blas(),
        "gpu_memory": gpu_memory() if weight.is_cuda else "n/a",
        **memory(),
    }


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


@torch.no_grad()
def layout(network: nn.Sequential, value: Tensor) -> str:
    """The memory layout of the first activation that has more than one channel."""
    for module in network:
        if value.dim() != 4:
            break
        if value.shape[1] > 1:
            return "NHWC" if value.stride(1) == 1 else "NCHW"
        value = module(value)
    return "n/a"


def mode(network: nn.Module) -> str:
    """The mode of every module, because each keeps its own."""
    return reading.every(
        "training" if module.training else "inference" for module in network.modules()
    )


def compilation(step: Any) -> str:
    """What is run: Python, or what torch.compile or torch.jit has made of it."""
    if hasattr(step, "_torchdynamo_orig_callable"):
        # Not imported above, because that takes a second; whoever compiles has done it.
        if sys.modules["torch._dynamo"].config.disable or stance() == "force_eager":
            return "eager"
        return reading.with_options("torch.compile", compile_options(step))
    scripted = isinstance(step, torch.jit.ScriptModule | torch.jit.ScriptFunction)
    return "torch.jit" if scripted else "eager"


def stance() -> str:
    """What torch.compiler.set_stance has asked of everything compiled; PyTorch has no getter."""
    known = getattr(sys.modules["torch._dynamo.eval_frame"], "_stance", None)
    return str(getattr(known, "stance", "default"))


def compile_options(step: Any) -> dict[str, Any]:
    """The options of torch.compile and of the compiler that are not their defaults. A mode is a set
    of the compiler's options."""
    # PyTorch keeps what it was asked for in a closure.
    context = inspect.getclosurevars(step.get_compiler_config).nonlocals.get("self")
    asked = {
        "dynamic": getattr(context, "_dynamic", None),
        "fullgraph": getattr(context, "fullgraph", False) or None,
        "stance": None if stance() == "default" else stance(),
    }
    found: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    compiler: Any = getattr(context, "callback", None)
    while hasattr(compiler, "_torchdynamo_orig_backend"):
        compiler = compiler._torchdynamo_orig_backend
    chosen = getattr(compiler, "get_compiler_config", step.get_compiler_config)()
    if chosen is None:  # only PyTorch's own compiler says what it was asked for
        return {"backend": "another", **found}
    usual = sys.modules["torch._inductor"].config._config
    return found | {key: value for key, value in chosen.items() if value != usual[key].default}


def debugging(network: nn.Module) -> str:
    hooks = (getattr(module, name) for module in network.modules() for name in HOOKS)
    return reading.on(
        {
            "anomaly detection": torch.is_anomaly_enabled(),
            "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
            "deterministic oneDNN": torch._C._get_mkldnn_deterministic(),
            "profiler": torch._C._autograd._profiler_enabled(),
            "dispatch mode": torch._C._len_torch_dispatch_stack() > 0,
            "function mode": torch._C._len_torch_function_stack() > 0,
            "hooks": any(hooks),
            "blocking launches": os.environ.get("CUDA_LAUNCH_BLOCKING", "0") != "0",
        }
    )


def input_gradient(network: nn.Module, value: Tensor) -> str:
    """Whether a backward pass computes a gradient of the network's input, too. `value` is an
    input as the training step gets it."""
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
    layers = [module for module in network.modules() if not list(module.children())]
    return reading.relu_and_pool(
        "relu" if isinstance(layer, nn.ReLU) else "pool" if isinstance(layer, POOLS) else ""
        for layer in layers
    )


def denormals(weight: Tensor) -> str:
    def halve(numbers: np.ndarray) -> np.ndarray:
        halves: np.ndarray = (torch.from_numpy(numbers).to(weight.device) * 0.5).cpu().numpy()
        return halves

    return reading.denormals(str(weight.dtype).removeprefix("torch."), halve)


def memory() -> dict[str, Setting]:
    return reading.memory(lambda size: torch.zeros(size, dtype=torch.uint8))


def onednn() -> bool:
    mkldnn = torch.backends.mkldnn
    return bool(mkldnn.is_available() and mkldnn.enabled)  # type: ignore[no-untyped-call]


def blas() -> str:
    """The library that this build names: `mkl`, `open`, `accelerate`."""
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found[1] if found else "unknown"


def gpu_memory() -> str:
    return f"taken as needed, {torch.cuda.get_allocator_backend()} allocator"


def written_through(x: Tensor, device: torch.device) -> str:
    """Whether writing to what `x.to(device)` returns changes `x`, too."""
    before = x.clone()
    x.to(device).add_(1)
    return "unchanged" if torch.equal(x, before) else "changed"

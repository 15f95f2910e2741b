"""Settings that JAX has no getter for, read off its programs and what they compute."""

import os
import resource
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

from frameworks.contract import Setting

BYTES = 1 << 26
PRODUCTS = ("dot_general", "conv_general_dilated")
POOLS = ("reduce_window_max", "reduce_window_sum", "reduce_window")


def process(weight: Any, program: str) -> dict[str, Setting]:
    """What holds for every network of this process: of one of its weights, and of its step as
    XLA has compiled it."""
    (device,) = weight.devices()
    gpu = device.platform != "cpu"
    tf32 = jax.config.jax_default_matmul_precision == "tensorfloat32"
    return {
        "precision": weight.dtype.name,
        "device": device.device_kind if gpu else "cpu",
        "intra_threads": int(os.environ["NPROC"]),
        "inter_threads": "n/a",
        "tf32_matmul": tf32,
        "tf32_convolution": tf32,
        "cudnn_autotune": "XLA's own" if gpu else "n/a",
        "denormals": denormals(weight.dtype),
        "onednn": "__onednn" in program,
        "blas": products(program),
        "gpu_memory": "taken as needed" if gpu else "n/a",
        "freed_memory": freed_memory(),
    }


def primitives(program: Any) -> Iterator[str]:
    """The names of a jaxpr's operations in order, those of functions it calls among them."""
    for equation in program.eqns:
        inner = [value for value in equation.params.values() if hasattr(value, "jaxpr")]
        if not inner:
            yield equation.primitive.name
        for one in inner:
            yield from primitives(one.jaxpr)


def relu_and_pool(network: Any, parameters: Any, images: Any) -> str:
    """The order of the two, wherever they are neighbours in the forward pass."""
    names = primitives(jax.make_jaxpr(network)(parameters, images).jaxpr)
    kinds = ["relu" if n == "max" else "pool" if n in POOLS else "" for n in names]
    orders = {f"{one} first" for one, other in pairwise(kinds) if {one, other} == {"relu", "pool"}}
    return " and ".join(sorted(orders)) or "n/a"


def input_gradient(gradient: Any, parameters: Any, *batch: Any) -> str:
    """Each trained layer has a product forward and two backward, but the first, whose input
    needs no gradient: `gradient` is the function of loss and gradients."""
    names = list(primitives(jax.make_jaxpr(gradient)(parameters, *batch).jaxpr))
    found, trained = sum(name in PRODUCTS for name in names), len(parameters) // 2
    return {3 * trained - 1: "not computed", 3 * trained: "computed"}.get(
        found, f"{found} products"
    )


def compiled(function: Any, *arguments: Any) -> str:
    """The program as XLA has compiled it, in its own notation."""
    return str(function.lower(*arguments).compile().as_text())


def products(program: str) -> str:
    """The libraries that a compiled program calls for its products."""
    libraries = {"__onednn": "oneDNN", "__ynn": "YNNPACK", "__cublas": "cuBLAS", "__cudnn": "cuDNN",
                 "__triton": "Triton"}  # fmt: skip
    return ", ".join(name for mark, name in libraries.items() if mark in program) or "XLA's own"


def denormals(dtype: Any) -> str:
    """`kept` or `flushed`; large enough that the thread pool computes its share."""
    smallest = jnp.full((1 << 20,), jnp.finfo(dtype).tiny, dtype)
    halves = jax.device_get(jax.jit(lambda x: x * 0.5)(smallest))
    return {0: "flushed", len(halves): "kept"}.get(int((halves != 0).sum()), "mixed")


def freed_memory() -> str:
    """`kept`, if a block freed and taken again comes to cost no page faults; else `returned`."""
    fewest = min(faults(BYTES - (try_ << 16)) for try_ in range(8))
    return "kept" if fewest < BYTES >> 22 else "returned"  # half of what huge pages would cost


def faults(size: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    jnp.zeros(size, jnp.uint8).block_until_ready().delete()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

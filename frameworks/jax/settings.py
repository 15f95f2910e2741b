"""Settings in effect in JAX, read off its programs and what they compute."""

import os
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from frameworks import reading
from frameworks.contract import Setting

PRODUCTS = ("dot_general", "conv_general_dilated")
POOLS = ("reduce_window_max", "reduce_window_sum", "reduce_window")
LIBRARIES = {"__onednn": "oneDNN", "__ynn": "YNNPACK", "__cublas": "cuBLAS", "__cudnn": "cuDNN",
             "__triton": "Triton"}  # fmt: skip


def process(weight: Any, program: str) -> dict[str, Setting]:
    """Settings that hold for every network of this process; `weight` is of any of them, and
    `program` is its training step as XLA has compiled it."""
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
        "denormals": denormals(weight.dtype.name),
        "onednn": "__onednn" in program,
        "blas": products(program),
        "gpu_memory": "taken as needed" if gpu else "n/a",
        "freed_memory": freed_memory(),
    }


def primitives(program: Any) -> Iterator[str]:
    """The names of a jaxpr's operations in order, including the functions it calls."""
    for equation in program.eqns:
        inner = [value for value in equation.params.values() if hasattr(value, "jaxpr")]
        if not inner:
            yield equation.primitive.name
        for called in inner:
            yield from primitives(called.jaxpr)


def relu_and_pool(network: Any, parameters: Any, images: Any) -> str:
    names = primitives(jax.make_jaxpr(network)(parameters, images).jaxpr)
    return reading.relu_and_pool(
        "relu" if name == "max" else "pool" if name in POOLS else "" for name in names
    )


def input_gradient(gradient: Any, parameters: Any, *batch: Any) -> str:
    """Whether `gradient`, the function of loss and gradients, computes one of the input, too.

    A trained layer has one product in the forward pass and two in the backward pass. The first
    layer has only one there if its input needs no gradient.
    """
    names = primitives(jax.make_jaxpr(gradient)(parameters, *batch).jaxpr)
    counted = sum(name in PRODUCTS for name in names)
    layers = sum(parameter.ndim > 1 for parameter in parameters)  # each has one kernel
    answers = {3 * layers - 1: "not computed", 3 * layers: "computed"}
    return answers.get(counted, f"{counted} products")


def compiled(function: Any, *arguments: Any) -> str:
    """The program as XLA has compiled it, in XLA's notation."""
    return str(function.lower(*arguments).compile().as_text())


def products(program: str) -> str:
    """The libraries that a compiled program calls for its products."""
    called = [name for mark, name in LIBRARIES.items() if mark in program]
    return ", ".join(called) or "XLA's own"


def denormals(precision: str) -> str:
    def halve(numbers: np.ndarray) -> np.ndarray:
        return np.asarray(jax.jit(lambda x: x * 0.5)(jnp.array(numbers)))

    return reading.denormals(precision, halve)


def freed_memory() -> str:
    def allocate(size: int) -> None:
        jnp.zeros(size, jnp.uint8).block_until_ready().delete()

    return reading.freed_memory(allocate)

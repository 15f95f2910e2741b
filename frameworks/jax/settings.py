"""Settings in effect in JAX, read off its programs and what they compute."""

import os
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from frameworks import reading
from frameworks.contract import Setting

CONVOLUTION = "conv_general_dilated"
PRODUCTS = ("dot_general", CONVOLUTION)
POOLS = ("reduce_window_max", "reduce_window_sum", "reduce_window")
MODES = (
    "jax_check_tracer_leaks", "jax_debug_infs", "jax_debug_key_reuse", "jax_debug_nans",
    "jax_disable_jit", "jax_enable_checks",
    "jax_explain_cache_misses", "jax_log_compiles",
)  # fmt: skip
SLICES = "pool of slices"
# The name of each thread of XLA's pool, whose size JAX does not tell. TensorFlow has this pool,
# too, once it uses XLA, but a worker has one framework.
POOL = "tf_XLAEigen"
LIBRARIES = {"__onednn": "oneDNN", "__ynn": "YNNPACK", "__cublas": "cuBLAS", "__cudnn": "cuDNN",
             "__triton": "Triton"}  # fmt: skip


def process(weight: Any, program: str) -> dict[str, Setting]:
    """Settings that hold for every network of this process; `weight` is of any of them, and
    `program` is its training step as XLA has compiled it."""
    device, *_ = weight.devices()
    gpu = device.platform != "cpu"
    threads = reading.threads(POOL)
    tf32 = jax.config.jax_default_matmul_precision == "tensorfloat32"
    return {
        "precision": weight.dtype.name,
        "device": device.device_kind if gpu else "cpu",
        "intra_threads": threads or int(os.environ["NPROC"]),
        "inter_threads": "n/a",
        "tf32_matmul": tf32,
        "tf32_convolution": tf32,
        "cudnn_autotune": autotuned() if gpu else "n/a",
        "denormals": denormals(weight.dtype.name),
        "onednn": "__onednn" in program,
        "blas": products(program),
        "gpu_memory": gpu_memory() if gpu else "n/a",
        "debugging": debugging(),
        **memory(),
        "stated": "" if threads else "intra_threads",
    }


def compilation(step: Any) -> str:
    """What a call of the training step runs: Python, or what XLA has made of it, with options."""
    jitted = hasattr(step, "lower") and not jax.config.jax_disable_jit
    if not jitted:
        return "eager"
    info = getattr(step, "_jit_info", None)  # JAX has no other way to ask
    options = dict(info.compiler_options_kvs) if info else {"options": "not read"}
    return reading.with_options("jax.jit (XLA)", options)


def debugging() -> str:
    return reading.on(
        {name.removeprefix("jax_"): getattr(jax.config, name, False) for name in MODES}
    )


def layout(network: Any, parameters: Any, *others: Any) -> str:
    """The layout of images in convolutions. Those that are not XLA's multiply patches."""
    program = jax.make_jaxpr(network)(parameters, *others).jaxpr
    convolutions = [one for one in equations(program) if one.primitive.name == CONVOLUTION]
    found = set()
    for one in convolutions:
        places = one.params["dimension_numbers"].lhs_spec
        found.add("".join("NCHW"[places.index(axis)] for axis in range(4)))
    if len(convolutions) < sum(parameter.ndim == 4 for parameter in parameters):
        found.add("patches")
    return reading.every(found)


def autotuned() -> str:
    """XLA tries algorithms itself unless its flags forbid it."""
    level = re.search(r"--xla_gpu_autotune_level=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return "off" if level and level[1] == "0" else "XLA's own"


def gpu_memory() -> str:
    taken = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "true").lower() in ("true", "1")
    return "taken at once" if taken else "taken as needed"


def equations(program: Any) -> Iterator[Any]:
    """A jaxpr's operations in order, including those of the functions it calls."""
    for equation in program.eqns:
        inner = [value for value in equation.params.values() if hasattr(value, "jaxpr")]
        if not inner:
            yield equation
        for called in inner:
            yield from equations(called.jaxpr)


def primitives(program: Any) -> list[str]:
    return [equation.primitive.name for equation in equations(program)]


def pooling(network: Any, *arguments: Any) -> dict[str, Setting]:
    """Which comes first of ReLU and pooling, and what the max-pooling is made of."""
    program = jax.make_jaxpr(network)(*arguments).jaxpr
    kinds = [kind(one) for one in equations(program) if one.primitive.name != "slice"]
    pools = {"slices": SLICES in kinds, "reduce_window": "reduce_window_max" in primitives(program)}
    return {
        "relu_and_pool": reading.relu_and_pool("pool" if k == SLICES else k for k in kinds),
        "max_pooling": reading.every(name for name, found in pools.items() if found),
    }


def kind(equation: Any) -> str:
    """`relu`, the maximum of an array and a constant; `pool`, or the maximum of slices; or ""."""
    name = equation.primitive.name
    if name == "max":
        return "relu" if any(hasattr(one, "val") for one in equation.invars) else SLICES
    return "pool" if name in POOLS else ""


def weights_memory(program: str, arrays: Any) -> str:
    """Whether a compiled step writes the new weights and state over the old ones."""
    reused = len(re.findall(r"\{\d+\}: \(\d+, \{\}, m\w+-alias\)", program))
    total = len(jax.tree.leaves(arrays))
    return {0: "new in every step", total: "reused"}.get(reused, f"{reused} of {total} reused")


def input_gradient(gradient: Any, parameters: Any, *others: Any, spared: int = 1) -> str:
    """Whether `gradient`, the function of loss and gradients, computes one of the input, too.

    A trained layer has one product in the forward pass and two in the backward pass. The `spared`
    first layers have only one there if their input needs no gradient. Words have none.
    """
    if not jnp.issubdtype(others[-2].dtype, jnp.floating):
        return "not computed"
    names = primitives(jax.make_jaxpr(gradient)(parameters, *others).jaxpr)
    counted = sum(name in PRODUCTS for name in names)
    layers = sum(parameter.ndim > 1 for parameter in parameters)  # each has one kernel
    answers = {3 * layers: "computed", 3 * layers - spared: "not computed"}
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


def memory() -> dict[str, Setting]:
    def allocate(size: int) -> None:
        jnp.zeros(size, jnp.uint8).block_until_ready().delete()

    return reading.memory(allocate)

"""The description of JAX."""

from typing import Any

from frameworks import memory
from frameworks.contract import Cache, Framework, Variant
from frameworks.jax.profiling.operations import OPERATIONS

CACHES = (Cache("JAX's", "JAX_COMPILATION_CACHE_DIR"),)


def compiled(summary: str, **more: Any) -> Variant:
    return Variant(summary, rebuilds=False, caches=CACHES, **more)


FRAMEWORK = Framework(
    name="jax",
    title="JAX",
    distributions=("jax",),
    companions=("jaxlib", "optax"),
    install="pip install -r frameworks/jax/requirements.txt",
    adapter="frameworks.jax.adapter:JaxAdapter",
    requirements="requirements.txt",
    operations=OPERATIONS,
    variants={
        "default": compiled("jax.jit over one update function; jax.nn, jax.lax and optax"),
        "tuned": compiled(
            "default; max-pooling by slices, convolutions without padding as one product, one "
            "product for all inputs of an LSTM, weights and state donated, freed memory kept",
            change="weights donated",
            compared_with="products",
            variables=memory.KEPT,
        ),
        **memory.steps(rebuilds=False, caches=CACHES),
        "pooling": compiled(
            "pages; max-pooling by slices, one product for all inputs of an LSTM",
            change="pooling by slices",
            compared_with="pages",
            variables=memory.KEPT,
        ),
        "products": compiled(
            "pooling; on processors, convolutions without padding as one product",
            change="convolutions as products",
            compared_with="pooling",
            variables=memory.KEPT,
        ),
        "two-workers": compiled(
            "default, its batch sharded over two devices of one thread, which XLA makes of the "
            "processor",
            variables={
                "XLA_FLAGS": "--xla_force_host_platform_device_count=2 "
                "--xla_cpu_multi_thread_eigen=false"
            },
        ),
        "bfloat16": compiled(
            "default, weights and inputs cast to bfloat16 for the layers", reduced="bfloat16"
        ),
        "tf32": compiled(
            "default, products in jax_default_matmul_precision=tensorfloat32", reduced="tf32"
        ),
        "trap-unsynchronised": compiled("default, never waited for", pitfall="no synchronise"),
        "trap-unread": compiled(
            "default, never waited for, no loss read before the end of a turn",
            pitfall="no synchronise, no loss read",
            unread=True,
        ),
        "trap-loss-only": compiled(
            "default, waited for until the loss is there", pitfall="synchronise for the loss alone"
        ),
        "part-forward": compiled(
            "the loss of default in a jax.jit of its own, which keeps nothing for a backward pass",
            part="forward",
        ),
        "part-gradient": compiled(
            "loss and gradients of default, all of them outputs of one jax.jit; no update",
            part="gradient",
        ),
    },
    variables={"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"},
)

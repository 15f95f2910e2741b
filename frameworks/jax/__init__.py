"""The description of JAX."""

from frameworks import memory
from frameworks.contract import Cache, Framework, Variant
from frameworks.jax.profiling.operations import OPERATIONS

CACHES = (Cache("JAX's", "JAX_COMPILATION_CACHE_DIR"),)

FRAMEWORK = Framework(
    name="jax",
    title="JAX",
    distributions=("jax",),
    companions=("jaxlib", "optax"),
    install="pip install -r frameworks/jax/requirements.txt",
    adapter="frameworks.jax.adapter:JaxAdapter",
    requirements="requirements.txt",
    caches=CACHES,
    operations=OPERATIONS,
    variants={
        "default": Variant(
            "jax.jit over one update function; jax.nn, jax.lax and optax", rebuilds=False
        ),
        "tuned": Variant(
            "default; max-pooling by slices, one product for all inputs of an LSTM, weights and "
            "state donated, freed memory kept",
            rebuilds=False,
            change="weights donated",
            compared_with="pooling",
            environment=memory.KEPT,
        ),
        **memory.steps(rebuilds=False),
        "pooling": Variant(
            "pages; max-pooling by slices, one product for all inputs of an LSTM",
            rebuilds=False,
            change="pooling by slices",
            compared_with="pages",
            environment=memory.KEPT,
        ),
        "bfloat16": Variant(
            "default, weights and inputs cast to bfloat16 for the layers",
            rebuilds=False,
            reduced="bfloat16",
        ),
        "tf32": Variant(
            "default, products in jax_default_matmul_precision=tensorfloat32",
            rebuilds=False,
            reduced="tf32",
        ),
        "trap-unsynchronised": Variant(
            "default, never waited for", rebuilds=False, pitfall="no synchronise"
        ),
        "trap-loss-only": Variant(
            "default, waited for until the loss is there",
            rebuilds=False,
            pitfall="synchronise for the loss alone",
        ),
        "part-forward": Variant(
            "the loss of default in a jax.jit of its own, which keeps nothing for a backward pass",
            rebuilds=False,
            part="forward",
        ),
        "part-gradient": Variant(
            "loss and gradients of default, all of them outputs of one jax.jit; no update",
            rebuilds=False,
            part="gradient",
        ),
    },
    environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"},
)

"""The description of TensorFlow."""

from typing import Any

from frameworks import memory
from frameworks.contract import Cache, Deviation, Framework, Variant
from frameworks.tensorflow.profiling.operations import OPERATIONS

# Keras deviates on every backend. Nothing but this state depends on it.
STATE = Deviation(
    "state.batch_norm.variance",
    "Keras' running variance is an average of biased variances, of n values a channel "
    "(n - 1) / n of the unbiased ones; training does not use it",
    state_within=0.5,
    mistake="batch-norm-running-variance-biased",
)
# Where gradients are below epsilon, updates differ by any factor.
ANY_FACTOR = 1e4
DEVIATIONS = (
    Deviation(
        "optimiser.adam",
        "Keras adds epsilon to the root of v before v's bias is corrected: its "
        "effective epsilon is epsilon / sqrt(1 - beta2^t), 32 times larger at step 1",
        loss_within=ANY_FACTOR,
        mistake="adam-of-keras",
    ),
    Deviation(
        "optimiser.rmsprop",
        "Keras adds epsilon inside the root, g / sqrt(v + epsilon): its effective "
        "epsilon is up to sqrt(epsilon), 10,000 times larger for 1e-8",
        loss_within=ANY_FACTOR,
        mistake="rmsprop-epsilon-inside-the-root",
    ),
    STATE,
)

CACHES = (
    Cache("XLA's in TensorFlow", "TF_XLA_FLAGS", option="--tf_xla_persistent_cache_directory"),
)


# TensorFlow uses oneDNN by itself only if a processor has instructions for neural networks, such as
# VNNI. With AVX2 alone, a step of the
# MNIST CNN takes almost a third less with it.
ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "1"}

# Keras, which TensorFlow imports, and TensorFlow Lite look for them.
OPTIONAL_IMPORTS = ("matplotlib", "pandas", "sklearn")


def traced(summary: str, **more: Any) -> Variant:
    return Variant(summary, rebuilds=False, **more)


FRAMEWORK = Framework(
    name="tensorflow",
    title="TensorFlow",
    distributions=("tensorflow", "tensorflow-cpu"),
    companions=("keras",),
    install="pip install -r frameworks/tensorflow/requirements.txt",
    adapter="frameworks.tensorflow.adapter:TensorFlowAdapter",
    requirements="requirements.txt",
    operations=OPERATIONS,
    loader=True,
    variants={
        "default": traced(
            "tf.function, as in the quickstart for experts: Keras model, loss and optimiser",
            deviations=DEVIATIONS,
        ),
        "tuned": traced(
            "tf.function over tf.nn and TensorFlow's update kernels, oneDNN's kernels on every "
            "processor, freed memory kept",
            change="oneDNN, graph looked up once",
            compared_with="operations",
            variables=memory.KEPT | ONEDNN,
        ),
        **memory.steps(rebuilds=False, deviations=DEVIATIONS),
        "update": traced(
            "pages; TensorFlow's update kernels",
            change="update kernels",
            compared_with="pages",
            deviations=(STATE,),
            variables=memory.KEPT,
        ),
        "operations": traced(
            "update; tf.nn instead of Keras' layers and loss",
            change="tf.nn for Keras",
            compared_with="update",
            variables=memory.KEPT,
        ),
        "eager": traced("default, without tf.function", deviations=DEVIATIONS),
        "xla": traced("default, jit_compile=True", deviations=DEVIATIONS, caches=CACHES),
        "two-workers": traced(
            "default, MirroredStrategy: two logical processors of one thread share each mini-batch",
            deviations=DEVIATIONS,
            variables={"SAMESTEP_LOGICAL_PROCESSORS": "2"},
        ),
        "bfloat16": traced(
            "default, its layers under Keras' policy mixed_bfloat16",
            deviations=DEVIATIONS,
            reduced="bfloat16",
        ),
        "tf32": traced("default, TF32 enabled", deviations=DEVIATIONS, reduced="tf32"),
        "part-forward": traced(
            "the loss of default in a tf.function of its own, which keeps nothing for a backward "
            "pass",
            part="forward",
            deviations=(STATE,),
        ),
        "part-gradient": traced(
            "loss and gradients of default, returned by a tf.function as the tape gives them; no "
            "update",
            part="gradient",
            deviations=(STATE,),
        ),
        **{
            f"trap-{name}": traced(summary, pitfall=pitfall, caches=CACHES * (name == "xla"))
            for name, summary, pitfall in (
                ("weights", "default, from weights that Keras draws", "Keras' own initial weights"),
                ("epsilon", "default, Keras' epsilon", "Keras' own Adam epsilon, 1e-7"),
                (
                    "python-floats",
                    "default, Adam's numbers as Python floats",
                    "Adam's numbers as Python floats",
                ),
                ("probabilities", "default, from_logits=False", "logits taken for probabilities"),
                (
                    "pooled-first",
                    "default, each ReLU behind the max-pooling",
                    "ReLU after the pooling",
                ),
                (
                    "input-gradients",
                    "default, the input watched, its gradient returned",
                    "gradients of the input computed",
                ),
                ("eager", "default, without tf.function", "eager, without tf.function"),
                ("xla", "default, jit_compile=True", "compiled (XLA)"),
                ("tf32", "default, TF32 on", "TensorFlow's own TF32 setting"),
                ("unsynchronised", "default, never waited for", "no synchronise"),
            )
        },
        "trap-unread": traced(
            "default, never waited for, no loss read before the end of a turn",
            pitfall="no synchronise, no loss read",
            unread=True,
        ),
    },
    variables={"TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"},
    optional_imports=(*OPTIONAL_IMPORTS, "jax", "scipy"),
)

"""The description of Keras 3: a variant for each of its backends."""

from frameworks import jax, tensorflow
from frameworks.contract import Cache, Framework, Variant

TIMED_FIT = (
    "from handing a mini-batch over to a running model.fit to its callback on_train_batch_end, "
    "so with Keras' data adapter and the copy to the device, metrics and callbacks; the first of "
    "each turn begins a new fit"
)


def variant(summary: str, backend: str, caches: tuple[Cache, ...] = (), timed: str = "") -> Variant:
    return Variant(
        summary,
        rebuilds=False,
        deviations=tensorflow.DEVIATIONS,
        variables={"KERAS_BACKEND": backend},
        timed=timed,
        caches=caches,
    )


FRAMEWORK = Framework(
    name="keras",
    title="Keras",
    distributions=("keras",),
    companions=("tensorflow", "tensorflow-cpu", "torch", "jax", "jaxlib"),
    install="pip install -r frameworks/keras/requirements.txt",
    requirements="requirements.txt",
    adapter="frameworks.keras.adapter:KerasAdapter",
    variants={
        "tensorflow": variant(
            "compile and train_on_batch on TensorFlow", "tensorflow", tensorflow.CACHES
        ),
        "torch": variant("compile and train_on_batch on PyTorch", "torch"),
        "jax": variant("compile and train_on_batch on JAX", "jax", jax.CACHES),
        "fit": variant("compile and fit on TensorFlow", "tensorflow", tensorflow.CACHES, TIMED_FIT),
    },
    # The backends' own variables.
    variables={"TF_CPP_MIN_LOG_LEVEL": "2", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    optional_imports=tensorflow.OPTIONAL_IMPORTS,
)

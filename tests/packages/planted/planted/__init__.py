"""Two frameworks of another package that are wrong on purpose: the real adapters with a defect.

Every variant but `right` has one defect of a few lines, in the module of its subject.
"""

from frameworks import tensorflow
from frameworks.contract import Framework, Variant
from planted import in_tensorflow  # noqa: F401
from planted.execution import as_timed, behaviour, precision  # noqa: F401
from planted.forward import data, loss, network, residual, sequences, weights  # noqa: F401
from planted.registry import DEFECTS
from planted.updating import optimiser, state, updates  # noqa: F401


def variants(framework: str) -> dict[str, Variant]:
    return {
        "right": Variant("no defect"),
        **{
            defect.name: Variant(defect.summary, deviations=defect.deviations)
            for defect in DEFECTS.values()
            if defect.framework == framework
        },
    }


PYTORCH = Framework(
    name="planted",
    title="PyTorch with planted defects",
    distributions=("planted",),
    companions=("torch",),
    install="comes with the tests",
    adapter="planted.pytorch_adapter:PlantedPyTorch",
    variants=variants("planted"),
)
TENSORFLOW = Framework(
    name="planted-tensorflow",
    title="TensorFlow with planted defects",
    distributions=("planted",),
    companions=("tensorflow", "tensorflow-cpu"),
    install="comes with the tests",
    adapter="planted.tensorflow_adapter:PlantedTensorFlow",
    variants=variants("planted-tensorflow"),
    variables={"TF_CPP_MIN_LOG_LEVEL": "2"},
    optional_imports=tensorflow.FRAMEWORK.optional_imports,
)

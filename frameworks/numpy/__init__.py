"""The description of NumPy, which trains no network and has single operations only."""

from frameworks.contract import Framework, Variant

FRAMEWORK = Framework(
    name="numpy",
    title="NumPy",
    distributions=("numpy",),
    install="comes with samestep",
    adapter="frameworks.numpy.adapter:NumPyAdapter",
    variants={"default": Variant("single operations only (divide, copy, fill), on one thread")},
    devices=("cpu",),
)

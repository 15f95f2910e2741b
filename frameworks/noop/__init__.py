"""A framework that computes nothing: its time is the harness's own cost."""

from frameworks.contract import Framework, Variant

FRAMEWORK = Framework(
    name="noop",
    title="No-op",
    distributions=("numpy",),
    install="comes with samestep",
    adapter="frameworks.noop.adapter:NoopAdapter",
    variants={"default": Variant("computes nothing: the harness's own cost per mini-batch")},
    devices=("cpu",),
)

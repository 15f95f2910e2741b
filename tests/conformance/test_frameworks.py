"""What comes with samestep, and the abacus, held to the rules as another's package would be."""

from workflows.conformance.testing import Conformance

WORKLOADS = {
    "mlp": {"features": 20, "hidden": [8], "batch": 4},
    "mnist-cnn": {"filters": [4, 4], "units": 8, "batch": 4},
}


class Ours(Conformance):
    variants = ("default",)
    workloads = WORKLOADS


class TestPyTorch(Ours):
    framework = "pytorch"


class TestTensorFlow(Ours):
    framework = "tensorflow"
    known = {  # noqa: RUF012
        "memory": "what a Keras optimiser has trained in a tf.function stays in memory"
    }


class TestJAX(Ours):
    framework = "jax"


ABACUS = """
from workflows.conformance.testing import Conformance

class TestAbacus(Conformance):
    framework = "abacus"
    variants = ("default", "kept")
    workloads = {}

class TestFlawed(Conformance):
    framework = "flawed-batch"
    workloads = {}
"""


def test_a_package_of_somebody_elses_inherits_the_rules(pytester, flawed):
    pytester.makepyfile(ABACUS)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    words = found.stdout.str()
    assert (
        "must hold  Once put() and synchronise()" in words and "mend       copy in put()" in words
    )
    outcomes = found.parseoutcomes()
    assert outcomes["failed"] == 1 and outcomes["skipped"] >= 3 and outcomes["passed"] >= 40

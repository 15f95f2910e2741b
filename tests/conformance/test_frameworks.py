"""samestep's own adapters and the abacus, checked as another's package would be."""

import pytest

from frameworks.registry import framework
from workflows.conformance.testing import Conformance
from workflows.machine.gpu import gpus

# The smoke study in tests/test_study.py certifies the two small ones of the catalogue.
WORKLOADS = {"resnet-56": {"blocks": [1, 1], "width": 4, "side": 8, "batch": 8}}

KEPT = {
    ("default", "memory"): "what a Keras optimiser has trained in a tf.function stays in memory"
}


HALVES = {"vocabulary": "each worker normalises its half of a mini-batch by itself"}

NO_DEFAULT = {"variant": "Keras has a variant for each backend, and no default among them"}


class Isolated(Conformance):
    """Every rule, in processes of the adapter's own, and a certificate of a small network."""

    workloads = WORKLOADS


class TestPyTorch(Isolated):
    framework = "pytorch"
    variants = ("default",)


@pytest.mark.all
class TestTensorFlow(Isolated):
    framework = "tensorflow"
    variants = ("default",)
    known = KEPT


@pytest.mark.all
class TestJAX(Isolated):
    framework = "jax"
    variants = ("default",)


@pytest.mark.all
class TestTwoWorkersOfPyTorch(Isolated):
    framework = "pytorch"
    variants = ("two-workers",)
    threads = 2
    known = HALVES


if gpus():

    class TestPyTorchOnAGPU(Isolated):
        framework = "pytorch"
        variants = ("default", "tuned")
        device = "gpu"

    class TestTensorFlowOnAGPU(Isolated):
        framework = "tensorflow"
        variants = ("default", "tuned")
        device = "gpu"
        known = KEPT

    class TestJAXOnAGPU(Isolated):
        framework = "jax"
        variants = ("default", "tuned")
        device = "gpu"


class Here(Conformance):
    """The rules that need no process of their own, in this one: more variants in less time."""

    isolated = False
    workloads = {}  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def allocator(self, monkeypatch):
        """`tuned` asks for a process of its own, because these variables act when one starts. No
        rule here depends on them."""
        for variant in self.variants:
            for name, value in framework(self.framework).variants[variant].variables.items():
                monkeypatch.setenv(name, value)


class TestPyTorchHere(Here):
    framework = "pytorch"
    variants = ("tuned",)


class TestTensorFlowHere(Here):
    framework = "tensorflow"
    variants = ("tuned",)


@pytest.mark.all
class TestJAXHere(Here):
    framework = "jax"
    variants = ("tuned",)


@pytest.mark.all
class TestEagerTensorFlowHere(TestTensorFlowHere):
    variants = ("eager",)


@pytest.mark.all
class TestKerasHere(Here):
    framework = "keras"
    variants = ("tensorflow",)
    known = NO_DEFAULT

    @pytest.fixture(autouse=True)
    def backend(self, monkeypatch):
        """What Keras takes if nothing is set."""
        monkeypatch.setenv("KERAS_BACKEND", "tensorflow")


class TestKerasFitHere(TestKerasHere):
    variants = ("fit",)


ABACUS = """
from workflows.conformance.testing import Conformance

class TestAbacus(Conformance):
    framework = "abacus"
    variants = ("default", "kept")
    workloads = {}
    isolated = False

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

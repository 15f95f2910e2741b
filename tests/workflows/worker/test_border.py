"""What an adapter gives becomes plain on its way out of the worker, or is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from frameworks.contract import Unavailable
from tests.conftest import ROOT
from workflows.worker.border import as_settings, as_weights, explain, supported, where
from workflows.worker.handlers import Handlers
from workflows.worker.training import train

NETWORK = {"kernel": np.zeros((2, 3)), "bias": np.zeros(3)}


class Computing(np.ndarray):
    """Which changes when somebody asks what is in it."""

    @property
    def dtype(self):
        np.ndarray.fill(self, 1)
        return np.ndarray.dtype.__get__(self)


@pytest.mark.parametrize("kind", [Computing, np.matrix])
def test_weights_are_plain_arrays_and_compute_nothing_when_they_are_looked_at(kind):
    found = as_weights({"kernel": np.zeros((2, 3)).view(kind)}, NETWORK)["kernel"]
    assert type(found) is np.ndarray and not found.any()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k" * 30_000: np.zeros(3)}, "names a tensor by 30,000 characters"),
        ({f"k{n}": np.zeros(0) for n in range(1000)}, "more than 105 tensors"),
        ({"kernel": np.zeros(10**4)}, "gave 10,000 numbers, the network has 9"),
    ],
)
def test_weights_that_no_record_could_hold_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        as_weights(given, NETWORK)


@pytest.mark.parametrize("given", [{"blas": "1", "blas\x00": "2"}, {"a b": 1, "a\u2028b": 2}])
def test_settings_that_a_reader_cannot_tell_apart_are_refused(given):
    with pytest.raises(ValueError, match="names two settings"):
        as_settings(given)
    with pytest.raises(ValueError, match="names a setting ''"):
        as_settings({"\x00 ": "3"})


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("\x00" * 5000), "ValueError"),
        (type("", (ValueError,), {})(), "an exception without a name"),
        (type("\x07", (Unavailable,), {})("\u200e"), "an exception without a name"),
        (Unavailable("\x00 no\nbeads \n"), "Unavailable: no beads"),
    ],
)
def test_a_failure_always_has_a_reason_that_can_be_seen(error, reason):
    assert explain(error) == reason


def test_reasons_fit_on_a_line():
    assert explain(ValueError("a\n  b")) == "ValueError: a b"
    assert explain(MemoryError()).startswith("out of memory")
    assert len(explain(ValueError("x" * 5000))) < 450


@pytest.mark.parametrize("error", [Unavailable("no beads"), NotImplementedError("no beads")])
def test_what_was_built_is_supported(error):
    with pytest.raises(RuntimeError, match="no beads, from a network that was built"), supported():
        raise error


class Unrestarted:
    """A trainer that raises when it begins again."""

    def weights(self):
        return NETWORK

    def put(self, *batch):
        return batch

    def step(self, batch):
        pass

    synchronise = loss = lambda self: 1.0

    def restart(self, weights):
        raise NotImplementedError("no beads")


def test_so_is_beginning_again():
    batch = (np.zeros(1), np.zeros(1))
    with pytest.raises(RuntimeError, match="no beads, from a network that was built"):
        train(Unrestarted(), lambda step: batch, NETWORK, steps=1, at=[], restart=1)


def test_the_place_of_an_error_is_none_of_ours():
    ours = compile("None.synchronise", str(ROOT / "workflows/conformance/worker.py"), "eval")
    theirs = compile("def f(ours=ours):\n    eval(ours)", "/somewhere/adapter.py", "exec")
    adapters: dict = {}
    exec(theirs, {"ours": ours}, adapters)
    with pytest.raises(AttributeError) as error:
        adapters["f"]()
    assert where(error.value) == "adapter.py:2"


@pytest.mark.parametrize(("given", "named"), [(None, "None"), (Computing, "the class Computing")])
def test_what_is_no_trainer_is_said(given, named):
    handlers = Handlers.__new__(Handlers)
    handlers.adapter = SimpleNamespace(trainer=lambda *asked: given)
    with pytest.raises(TypeError, match=rf"Adapter\.trainer gave {named}, a trainer is asked for"):
        handlers.new_trainer(None, {}, "default")

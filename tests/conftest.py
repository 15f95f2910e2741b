"""What all tests share: small studies that take seconds, and a framework of somebody else's."""

import gc
import os
import sys
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "tests" / "packages"


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory):
    """Tests neither use nor leave anything outside their own folders."""
    patch = pytest.MonkeyPatch()
    for name in [n for n in os.environ if n.startswith("SAMESTEP_")]:
        patch.delenv(name)
    here = tmp_path_factory.mktemp("surroundings")
    patch.setenv("SAMESTEP_LOCK", str(here / "machine.lock"))
    patch.setenv("SAMESTEP_CACHE", str(here / "cache"))
    yield
    patch.undo()


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """What frameworks have put into this process's memory is not garbage, and need not be
    looked through again and again."""
    gc.freeze()


@pytest.fixture
def abacus(monkeypatch):
    """Make the NumPy framework in `tests/packages` findable, as an installed package is."""
    folder = str(PACKAGES / "abacus")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder)
    yield folder
    sys.modules.pop("abacus", None)


@pytest.fixture
def small():
    """A configuration that takes a second or two: the abacus on a tiny perceptron."""
    return {
        "study": "small",
        "replicates": 1,
        "reference": "abacus",
        "contenders": [{"framework": "abacus"}],
        "devices": ["cpu"],
        "threads": [1],
        "workloads": {"mlp": {"features": 20, "hidden": [8], "samples": 400, "batch": 4}},
        "contest": {"warmup": 2, "rounds": 4, "turn": 4, "settle": 1},
        "controls": False,
        "harness": False,
        "certificate": {"steps": 50},
    }

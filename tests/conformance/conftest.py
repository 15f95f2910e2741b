import os
import sys

import pytest

from frameworks.registry import framework
from tests.conftest import PACKAGES, ROOT
from workflows.conformance.engine import Examined
from workflows.conformance.rules import RULES, timing
from workflows.conformance.subject import Subject

AGAINST_NUMPY = ("first loss", "vocabulary")  # tests/adapters/test_oracle.py compares more


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Every variant is compared with NumPy in `make test-all` only."""
    for item in items:
        in_process = getattr(getattr(item, "cls", None), "isolated", True) is False
        if in_process and item.callspec.params["rule"] in AGAINST_NUMPY:
            item.add_marker(pytest.mark.all)


@pytest.fixture
def flawed(abacus, monkeypatch):
    """Make the frameworks in `tests/packages/flawed` findable, which are made of the abacus."""
    folder = str(PACKAGES / "flawed")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, abacus, str(ROOT)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which the abacus reads, in this process too
    yield folder
    flaws = ("flawed", "flawed_adapters", "flawed_loaders", "flawed_training", "hasty", "literal")
    for module in (*flaws, "light", "heavy"):
        sys.modules.pop(module, None)


@pytest.fixture
def examine(flawed, monkeypatch):
    """`examine(name, ...)`: a framework, ready to be checked against the rules, in little time."""
    monkeypatch.setattr(timing, "SECONDS", 0.3)
    monkeypatch.setattr(timing, "PRODUCTS", 512)
    monkeypatch.setattr(timing, "DEVICE_WORK", timing.HOST_WORK)
    subjects = []

    def made(name, **asked):
        asked = {"workloads": {}, "quick": True, **asked}
        subjects.append(Subject(framework(name), **asked))
        return Examined(subjects[-1], RULES)

    yield made
    for subject in subjects:
        subject.__exit__(None, None, None)

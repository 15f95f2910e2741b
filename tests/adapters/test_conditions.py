"""Conditions that hold for a whole process, each tried in one of its own."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.contract import Framework
from frameworks.registry import framework, versions

TRY = """
import json, sys
from frameworks.contract import Conditions, Unavailable
from frameworks.registry import open_adapter, framework
from frameworks.workloads import initial_weights, load

name, variant, *tries = json.loads(sys.argv[1])
workload = load("mnist-cnn", {"batch": 8, "filters": [4, 4], "units": 4})
found = []
for conditions in tries:
    try:
        adapter = open_adapter(framework(name), Conditions(**conditions))
        trainer = adapter.trainer(workload, initial_weights(workload, 1), variant)
        found.append(trainer.settings())
    except Unavailable as reason:
        found.append(str(reason))
print(json.dumps(found))
"""


def required(name: str) -> Framework:
    """The framework; skips the test if it is not installed."""
    found = framework(name)
    if not versions(found):
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(params=["pytorch", "tensorflow"])
def installed(request: pytest.FixtureRequest) -> Framework:
    return required(request.param)


def attempt(installed: Framework, variant: str, *conditions: dict[str, Any]) -> list[Any]:
    """In one new process, one after the other: the settings, or why they cannot be had."""
    arguments = json.dumps([installed.name, variant, *conditions])
    command = [sys.executable, "-c", TRY, arguments]
    environment = {
        **os.environ, **installed.variables, **installed.variants[variant].variables
    }  # fmt: skip
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(run.stdout)
    return found


def test_threads_and_tf32(installed: Framework) -> None:
    three, again, one = attempt(
        installed,
        "tuned",
        {"threads": 3, "tf32": True},
        {"threads": 3, "precision": "float64"},
        {"threads": 1},
    )
    assert three["intra_threads"] == three["inter_threads"] == 3
    assert three["tf32_matmul"] is three["tf32_convolution"] is True
    assert again["tf32_matmul"] is again["tf32_convolution"] is False
    assert again["precision"] == "float64"
    assert "started under other conditions" in one


def test_threads_of_jax_are_counted_and_not_taken_from_what_was_asked_for() -> None:
    """JAX makes its pool once in a process, and a later request changes nothing."""
    found = attempt(required("jax"), "default", {"threads": 3}, {"threads": 1})
    assert [one["intra_threads"] for one in found] == [3, 3]
    assert not any("intra_threads" in one["stated"] for one in found)


@pytest.mark.parametrize(
    "name", ["pytorch", *(pytest.param(n, marks=pytest.mark.all) for n in ("tensorflow", "jax"))]
)
def test_only_tuned_changes_the_allocator(name: str) -> None:
    """TensorFlow keeps freed memory also in the allocator that comes with oneDNN, which TensorFlow
    uses on some processors and not on others."""
    found = required(name)
    (default,), (tuned,) = (attempt(found, one, {}) for one in ("default", "tuned"))
    own = name == "tensorflow" and default["onednn"]
    assert default["freed_memory"] == ("kept" if own else "returned")
    assert tuned["freed_memory"] == "kept"
    offered = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    if "[madvise]" in offered:
        assert (default["huge_pages"], tuned["huge_pages"]) == ("not used", "used")
    if name == "tensorflow" and platform.machine() == "x86_64":
        assert tuned["onednn"]  # by itself TensorFlow takes it only if there is VNNI

"""The answers of a trainer to some of the probes' questions, and whether they are those wanted."""

from collections.abc import Mapping
from typing import Any

import pytest

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload, load
from workflows.worker.probes import GROUPS

CNN = load("mnist-cnn", None)
MLP = load("mlp", None)
SEQUENCES = load("lstm", None)


def answers(adapter: Adapter, workload: Workload, *names: str, variant: str = "default") -> Any:
    """The answers to these questions alone."""
    found = {}
    for observe, questions in GROUPS:
        if wanted := [name for name in names if name in questions]:
            seen = observe(adapter, variant, workload)
            found |= {name: questions[name](seen) for name in wanted}
    return found


def same(found: Mapping[str, Setting], wanted: Mapping[str, Setting]) -> None:
    """Numbers but for float32's rounding, words to the letter."""
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-3))

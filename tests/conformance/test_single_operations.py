"""An adapter that has single operations and no network."""

import json

import pytest

from samestep.__main__ import main
from workflows.conformance.rules import RULES

OF_ANY_ADAPTER = ("description", "source", "certificate")


def test_it_is_checked_by_its_operations(capsys):
    pytest.importorskip("torch")  # which no process imports here
    assert main(["check", "numpy", "--quick", "--json"]) == 0
    found = {one["rule"]: one for one in json.loads(capsys.readouterr().out)}
    assert {rule for rule, one in found.items() if one["status"] == "holds"} == {*OF_ANY_ADAPTER}
    assert found["build"]["seen"] == "it has single operations only: divide, copy, fill"
    for rule, one in found.items():
        assert rule in OF_ANY_ADAPTER or one["status"] == "does not apply", one
    assert found["certificate"]["seen"] == "; ".join(
        f"{kind}: agrees: NumPy's results" for kind in ("divide", "copy", "fill")
    )


def test_a_network_that_is_asked_for_is_a_note(capsys):
    assert main(["check", "numpy", "--rule", "certificate", "--workload", "mlp", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["status"] == "does not apply" and "NumPy trains no network" in one["seen"]


def test_a_wrong_operation_is_broken_by_name(examine):
    pytest.importorskip("torch")
    workloads = {"divide": {"elements": 1000, "samples": 2}}
    right, wrong = (
        RULES["certificate"].tried(examine("abacus", variant=name, workloads=workloads).subject)
        for name in ("default", "wrong")
    )
    assert (right.status, right.seen) == ("holds", "divide: agrees: NumPy's results")
    assert wrong.status == "broken" and "divide: refused: divide: in step 1 a number" in wrong.seen

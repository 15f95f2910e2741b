import sys

import pytest

from workflows.configuration import parse
from workflows.plan import PlanError, contenders, make


def plan(small, **changes):
    notes = []
    made = make(parse({**small, **changes}), command="a test", note=notes.append)
    return made, notes


def test_all_threads_become_a_number_once(small, abacus):
    names = [c.name for c in contenders(parse({**small, "threads": [1, "all"]}), cores=4)]
    assert names == ["abacus/default/cpu/1", "abacus/default/cpu/4"]
    assert len(list(contenders(parse({**small, "threads": [1, "all"]}), cores=1))) == 1


def test_an_entry_may_differ_from_the_study(small, abacus):
    entry = {"framework": "abacus", "variants": ["slow"], "threads": [1], "devices": ["cpu"]}
    study = parse({**small, "threads": [1, 2], "contenders": [{"framework": "abacus"}, entry]})
    names = [c.name for c in contenders(study, cores=2)]
    assert names == ["abacus/default/cpu/1", "abacus/default/cpu/2", "abacus/slow/cpu/1"]


def test_a_device_that_is_not_there_is_a_reason(small, abacus):
    made, notes = plan(small, devices=["cpu", "gpu"])
    assert {c.name: c.missing for c in made.contenders} == {
        "abacus/default/cpu/1": "",
        "abacus/default/gpu/1": "an abacus has no GPU",
    }
    assert "without abacus/default/gpu/1: an abacus has no GPU" in notes


def test_more_threads_than_cores_is_a_reason(small, abacus):
    made, _ = plan(small, threads=[1, 9999])
    assert "9999 threads asked for" in made.contenders[1].missing


def test_a_framework_that_is_not_installed_is_a_reason(small, abacus, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")  # so this interpreter finds it, and workers do not
    with pytest.raises(PlanError, match="no contender can run here"):
        plan(small)


def test_an_interpreter_that_is_not_there_is_a_reason(small, abacus):
    with pytest.raises(PlanError, match=r"cannot start /no/such/python: No such file"):
        plan(small, interpreters={"abacus": "/no/such/python"})


def test_required_makes_an_error_of_it(small, abacus):
    entry = {"framework": "abacus", "devices": ["cpu", "gpu"], "required": True}
    with pytest.raises(PlanError, match="abacus/default/gpu/1 is required, but: an abacus has no"):
        plan(small, contenders=[entry])


def test_the_reference_is_the_reference_frameworks_plainest(small, abacus):
    made, _ = plan(small, threads=["all", 1], devices=["gpu", "cpu"])
    assert made.reference.name == "abacus/default/cpu/1"
    assert made.reference.interpreter == sys.executable
    assert made.reference.versions == {"abacus": "0.1"}

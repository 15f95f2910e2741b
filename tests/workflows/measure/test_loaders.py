"""Contenders with loaders: which they are, how a contest runs them, what the report says."""

import os
from dataclasses import replace

import pytest

from frameworks.registry import framework
from frameworks.workloads import to_dict
from tests.conftest import ROOT
from tests.workflows.worker.test_loading import IMAGES
from workflows.measure.contest import ANOTHER
from workflows.measure.pool import cores_for, hosts
from workflows.planning.configfiles import parse, read
from workflows.planning.plan import contenders, loaded
from workflows.worker.process import WorkerProcess

LOADERS = ["inline", "threads-1", "processes-2", "framework-2"]
WITHOUT = "Abacus's adapter offers no loader of its own"
ALL = ["stored", *LOADERS]
ENTRY = {key: value for key, value in to_dict(IMAGES).items() if key != "name"}
PLANTED = """
from workflows.worker import loading
from workflows.worker.handlers import Handlers
from workflows.worker.worker import main

plain = loading.prepare

def swapped(self, number, slot):
    loading.Inline.begin(self, number ^ 1, slot)

def shifted(pixels, number, inputs):
    plain(pixels, number, inputs)
    inputs += 1e-6 * (number == 4)

loading.Threads.begin, loading.Threads.finish = swapped, loading.Inline.finish
loading.prepare = shifted
main(Handlers())
"""
STUDY = {
    "workloads": {"images": ENTRY},
    "loaders": LOADERS,
    "controls": {"handicaps": []},
    "replicates": 2,
}


def test_each_contender_runs_once_more_with_each_loader(abacus, small):
    entry = [{"framework": "abacus", "variants": ["default", "trap-epsilon"]}]
    study = parse({**small, **STUDY, "contenders": entry})
    planned = list(contenders(study, 2))
    found = list(loaded(study, planned))
    assert [one.variant for one in found] == [f"default+{name}" for name in ALL]
    assert [(one.built, one.loader) for one in found] == [("default", name) for name in ALL]
    twin = found[0].model_copy(update={"variant": "default+twin", "loader": ""})
    assert hosts([planned[0], twin, *found]) == [0, 1, 2, 2, 2, 2, 6]
    assert cores_for(found[0], [4, 5]) == [4, 5] and cores_for(twin, [4, 5]) == [5]
    assert not list(loaded(parse({**small, "contenders": entry}), planned))
    planned[0].missing = "not here"
    assert not list(loaded(study, planned))


def test_a_framework_without_a_loader_of_its_own_has_a_reason_for_that_one_alone():
    study = read([ROOT / "config" / name for name in ("study.yaml", "loading.yaml")])
    study = study.model_copy(update={"loaders": LOADERS})
    planned = list(loaded(study, contenders(study, 2)))
    assert {one.framework for one in planned} == {"pytorch", "tensorflow", "jax"}
    assert {(one.framework, one.loader, one.missing) for one in planned if one.missing} == {
        ("jax", "framework-2", "JAX's adapter offers no loader of its own")
    }


@pytest.mark.quiet
def test_a_contest_with_loaders(study, tmp_path):
    made = study(**STUDY)
    record, rows = made.contest(workload="images")
    made.contest(replicate=2, workload="images")
    assert {c.variant: (c.status, c.reason, c.loader) for c in record.contenders} == {
        "default": ("ok", "", ""),
        "default+twin": ("ok", "", ""),
        **{f"default+{name}": ("ok", "", name) for name in ALL},
    }
    # The same mini-batches and losses, whoever prepares them; each has its own count of steps.
    assert rows.groupby(["round", "batch"]).loss.nunique().eq(1).all()
    for _, own in rows.groupby("contender"):
        assert list(own.step) == list(range(2 + 4 * 4))

    made.certificate(workload="images")
    findings = made.findings(tmp_path / "machine")
    assert [row.of for row in findings.controls] == ["default"]  # the twin alone
    lines = findings.loading
    assert [row.loader for row in lines] == LOADERS
    assert [(row.kind, row.loaders, row.words) for row in lines] == [
        ("inline", 0, "inline"), ("threads", 1, "1 thread"), ("processes", 2, "2 processes"),
        ("framework", 2, "own loader, 2 workers"),
    ]  # fmt: skip
    for row in lines:
        assert not row.reason and row.estimate.ratio and row.base_ms
        assert 0 < row.waiting.value < row.wall.value and 0 < row.step.value < row.wall.value


@pytest.mark.quiet
def test_without_a_loader_of_its_own_all_others_are_measured(study, tmp_path, monkeypatch):
    monkeypatch.setattr("abacus.FRAMEWORK", replace(framework("abacus"), loader=False))
    made = study(**STUDY)
    made.contest(workload="images")
    made.contest(replicate=2, workload="images")
    made.certificate(workload="images")
    findings = made.findings(tmp_path / "machine")
    assert {row.loader: row.reason for row in findings.loading} == {
        **dict.fromkeys(LOADERS, ""), "framework-2": WITHOUT
    }  # fmt: skip
    assert [(one.id.variant, one.status, one.reason) for one in findings.missing] == [
        ("default+framework-2", "missing", WITHOUT)
    ]


def test_a_loader_that_delivers_something_else_is_refused(study, tmp_path, monkeypatch):
    """Planted: threads deliver another order, and the worker's own preparation other numbers."""
    made = study(**STUDY)
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.setattr(WorkerProcess, "module", "planted")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    record, _ = made.contest(workload="images")
    found = {c.loader: (c.status, c.reason) for c in record.contenders if c.loader}
    assert found["inline"] == found["threads-1"] == found["framework-2"] == ("failed", ANOTHER)
    assert found["processes-2"] == found["stored"] == ("ok", "")
    assert {c.status for c in record.contenders if not c.loader} == {"ok"}

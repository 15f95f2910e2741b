"""Stages that are asked for what a study has not, or find something damaged, say so in a line."""

import importlib
import json

import pytest

from workflows.planning.replicates import contests_key
from workflows.records.limits import REPLICATES
from workflows.stages import failures, replicates

WRONG = {
    "detect": ("workflows.stages.detect", ["--framework", "jax"], "no framework 'jax'"),
    "prepare": ("workflows.stages.prepare", ["--workload", "../../x"], "no workload '../../x'"),
    "reference": (
        "workflows.certify.stage", ["--workload", "x", "--reference"], "no workload 'x'"
    ),
    "certify": (
        "workflows.certify.stage", ["--workload", "mlp", "--framework", "jax"],
        "no framework 'jax'",
    ),
    "group": ("workflows.measure.contest", ["--group", "x", "--replicate", "1"], "no group 'x'"),
    "replicate": (
        "workflows.measure.contest", ["--group", "mlp", "--replicate", "0"],
        f"--replicate 0: from 1 to {REPLICATES:,}",
    ),
    "environment": ("workflows.environments.stage", ["--framework", "x"], "no framework 'x'"),
}  # fmt: skip


def said(capsys, module, words, monkeypatch):
    monkeypatch.setattr("sys.argv", ["stage", *words])
    status = importlib.import_module(module).main()
    return status, capsys.readouterr().err


@pytest.mark.parametrize("case", WRONG)
def test_what_a_study_has_not(study, capsys, monkeypatch, case):
    folders = study().folders
    monkeypatch.setenv("SAMESTEP_MACHINE", "here")
    module, words, message = WRONG[case]
    before = sorted(folders.root.rglob("*"))
    capsys.readouterr()
    status, text = said(capsys, module, ["--study", str(folders.root), *words], monkeypatch)
    assert status == 1 and message in text and text.count("\n") == 1
    assert sorted(folders.root.rglob("*")) == before


@pytest.fixture
def failed(study, contested):
    """A study with a contest in which somebody failed."""
    made = study(contenders=[{"framework": "abacus"}])
    record = contested[0].model_copy(deep=True)
    record.contenders[0].status, record.contenders[0].reason = "failed", "Broken: at 5"
    path = made.folders.contest("mlp", 1)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"contests": [record.model_dump(mode="json")]}))
    return made


def test_a_damaged_record_of_before_is_another_failure(failed, capsys, monkeypatch):
    path = failed.folders.contest("mlp", 1)
    before = path.with_name("1.json.failed")
    before.write_text("garbage")
    content = path.read_bytes()
    words = ["--study", str(failed.folders.root)]
    status, text = said(capsys, "workflows.stages.failures", words, monkeypatch)
    assert status == 1 and "They are set aside" in text
    assert before.read_bytes() == content and not path.exists()


def test_what_failed_is_set_aside_once(failed, capsys, monkeypatch):
    """The next run repeats it. What then fails in the same way is kept."""
    path = failed.folders.contest("mlp", 1)
    content = path.read_text()
    words = ["--study", str(failed.folders.root)]
    status, text = said(capsys, "workflows.stages.failures", words, monkeypatch)
    assert status == 1 and "mlp, replicate 1: abacus/default/cpu/1: Broken: at 5" in text
    assert "Repeat only those:" in text and not path.exists()
    path.write_text(content.replace("at 5", "at 7"))
    status, text = said(capsys, "workflows.stages.failures", words, monkeypatch)
    assert status == 1 and "They failed as before, so they are kept." in text and path.exists()


def test_what_cannot_be_set_aside_is_a_line(failed, capsys, monkeypatch):
    path = failed.folders.contest("mlp", 1)
    before = path.with_name("1.json.failed")
    before.mkdir()
    words = ["--study", str(failed.folders.root)]
    status, text = said(capsys, "workflows.stages.failures", words, monkeypatch)
    assert status == 1 and text.splitlines()[-1].startswith("failures: ") and path.exists()


@pytest.mark.parametrize("number", [0, -3, 10**9])
def test_a_number_of_replicates_that_no_study_has(study, capsys, monkeypatch, number):
    made = study(minutes=5, replicates=None)
    record = {
        "replicates": number, "minutes": 5, "most": None, "key": contests_key(made.plan.study),
        "before_s": 1, "contests_s": {"mlp": 1}, "around_s": 1, "total_s": 1, "sentence": "",
    }  # fmt: skip
    made.folders.replicates.write_text(json.dumps(record))
    for stage in (failures, replicates):
        monkeypatch.setattr("sys.argv", ["stage", "--study", str(made.folders.root)])
        assert stage.main() == 1
    assert "replicates.json: replicates: " in capsys.readouterr().err


def test_a_configuration_that_cannot_be_is_named_with_its_file(study, capsys, monkeypatch):
    folders = study().folders
    request = json.loads(folders.study.read_text())
    folders.study.write_text(json.dumps({**request, "configuration": {}}))
    words = ["--study", str(folders.root), "--workload", "mlp"]
    status, text = said(capsys, "workflows.stages.prepare", words, monkeypatch)
    assert status == 1 and f"{folders.study}: contenders: this key is missing" in text

import sys

import pytest

from workflows.machine.fingerprint import available_cores
from workflows.planning.configfiles import parse
from workflows.planning.plan import (
    Detected,
    Detection,
    PlanError,
    contenders,
    load_plan,
    surface,
    write_request,
)
from workflows.records.folders import Folders
from workflows.records.schema import Entrant
from workflows.records.storage import RecordError, write_json
from workflows.stages.collect import collect
from workflows.stages.detect import detect, devices_here
from workflows.worker.process import surroundings


@pytest.fixture
def plan(small, abacus, tmp_path):
    """`plan(key=value ...)`: the plan of the small study with these keys changed, and notes."""

    def make(**changes):
        configuration, notes = parse({**small, **changes}), []
        folders = Folders(tmp_path)
        write_request(folders, configuration, "here", "a test")
        for name in dict.fromkeys(entry.framework for entry in configuration.contenders):
            write_json(folders.detection(name), detect(configuration, name, notes.append))
        return load_plan(folders), notes

    return make


def test_all_threads_become_a_number_once(small, abacus):
    names = [c.name for c in contenders(parse({**small, "threads": [1, "all"]}), cores=4)]
    assert names == ["abacus/default/cpu/1", "abacus/default/cpu/4"]
    assert len(list(contenders(parse({**small, "threads": [1, "all"]}), cores=1))) == 1


def test_an_entry_may_differ_from_the_study(small, abacus):
    entry = {"framework": "abacus", "variants": ["slow"], "threads": [1], "devices": ["cpu"]}
    study = parse({**small, "threads": [1, 2], "contenders": [{"framework": "abacus"}, entry]})
    names = [c.name for c in contenders(study, cores=2)]
    assert names == ["abacus/default/cpu/1", "abacus/default/cpu/2", "abacus/slow/cpu/1"]


def test_a_missing_device_is_a_reason(plan, tmp_path):
    made, notes = plan(devices=["cpu", "gpu"])
    assert {c.name: c.missing for c in made.contenders} == {
        "abacus/default/cpu/1": "",
        "abacus/default/gpu/1": "an abacus has no GPU",
    }
    assert notes == ["found Abacus 0.1"]  # the GPU is mentioned once, for all frameworks
    assert devices_here(Folders(tmp_path), made.study) == "no GPU here: its rows are left out"


def test_a_device_that_only_some_frameworks_miss_names_them(tmp_path, abacus, small):
    folders, study = Folders(tmp_path), parse({**small, "devices": ["cpu", "gpu"]})
    assert devices_here(folders, study) == ""  # not all have been looked for
    found = {"cpu": Detected(), "gpu": Detected()}
    write_json(folders.detection("abacus"), Detection(framework="abacus", devices=found))
    assert devices_here(folders, study) == ""


def test_more_threads_than_cores_is_a_reason(plan):
    made, _ = plan(threads=[1, 9999])
    assert "9999 threads asked for" in made.contenders[1].missing


def test_more_threads_than_cores_run_if_asked_for(plan):
    most = 4 * len(available_cores())
    made, _ = plan(threads=[most, most + 1], oversubscribe=True)
    assert [bool(one.missing) for one in made.contenders] == [False, True]


def test_a_missing_framework_is_a_reason(plan, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")  # so this interpreter finds it, and workers do not
    made, _ = plan()
    assert "unknown framework" in made.contenders[0].missing


def test_a_missing_interpreter_is_a_reason(plan):
    made, _ = plan(interpreters={"abacus": "/no/such/python"})
    assert made.contenders[0].missing == "cannot start /no/such/python: No such file or directory"


def test_a_study_in_which_nothing_can_run_is_an_error_with_the_reasons(plan):
    made, _ = plan(devices=["gpu"])
    with pytest.raises(PlanError, match="abacus/default/gpu/1: an abacus has no GPU"):
        made.reference  # noqa: B018


def test_the_reference_is_the_plainest_contender_of_its_framework(plan):
    made, _ = plan(threads=["all", 1], devices=["gpu", "cpu"])
    assert made.reference.name == "abacus/default/cpu/1"
    assert made.reference.interpreter == sys.executable
    assert made.reference.versions["abacus"] == "0.1"


def test_certificates_refer_to_the_first_framework_if_ratios_refer_to_the_fastest(plan, tmp_path):
    for reference, fastest in (("fastest", True), ("abacus", False)):
        made, _ = plan(reference=reference, controls={"twin": True})
        assert made.reference.name == "abacus/default/cpu/1"
        assert {control.framework for control in made.controls} == {"abacus"}
        records, _ = collect(Folders(tmp_path))
        assert (records.study.reference, records.study.fastest) == ("abacus", fastest)


def test_without_a_study_there_is_no_plan(tmp_path):
    with pytest.raises(RecordError, match=r"study\.json: No such file"):
        load_plan(Folders(tmp_path))


def test_a_plan_made_elsewhere_keeps_its_cores(small, abacus, tmp_path, monkeypatch):
    """Records of a larger machine are collected on a smaller one."""
    study = parse({**small, "threads": [1, "all"]})
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("workflows.planning.plan.available_cores", lambda: list(range(48)))
        write_request(Folders(tmp_path), study, "server", "a test")
    write_json(Folders(tmp_path).detection("abacus"), detect(study, "abacus", lambda text: None))
    found = {c.name: c.missing for c in load_plan(Folders(tmp_path)).contenders}
    assert "abacus/default/cpu/48" in found and not any(
        "cores here" in reason for reason in found.values()
    )


def test_every_stage_checks_again_that_required_contenders_are_there(small, abacus, tmp_path):
    """No key contains `required`, so that changing it measures nothing again."""
    folders = Folders(tmp_path)
    write_json(
        folders.detection("abacus"), detect(parse({**small, "devices": ["gpu"]}), "abacus", print)
    )
    entry = {"framework": "abacus", "devices": ["gpu"], "required": True}
    write_request(folders, parse({**small, "contenders": [entry]}), "here", "a test")
    with pytest.raises(PlanError, match="is required, but: an abacus has no GPU"):
        load_plan(folders)


def test_a_variant_may_set_environment_variables():
    jax = Entrant(framework="keras", variant="jax", device="cpu", threads=1)
    control = jax.model_copy(update={"variant": "torch+twin", "runs": "torch"})
    assert surroundings(jax, sys.executable)["KERAS_BACKEND"] == "jax"
    assert surroundings(control, sys.executable)["KERAS_BACKEND"] == "torch"
    assert surface(jax) == "cpu KERAS_BACKEND=jax"
    assert surface(jax.model_copy(update={"framework": "pytorch", "variant": "default"})) == "cpu"

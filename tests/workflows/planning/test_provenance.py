import ast
import sys
from typing import Annotated

import pytest

from tests.conftest import ROOT
from workflows.machine.fingerprint import available_cores
from workflows.planning import provenance as keys
from workflows.planning.configfiles import parse
from workflows.planning.configuration import Configuration
from workflows.planning.entries import Scope

# Imported by what measures, and of no influence on what is measured.
ROOMS = ("cluster", "machine", "output", "planning", "progress", "records")
HARMLESS = tuple(f"workflows.{room}" for room in ROOMS)


def imported(path):
    """Modules of this repository that a file imports."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            package = node.module.split(".")[0]
            if package in ("frameworks", "workflows", "analysis"):
                inside = [f"{node.module}.{name.name}" for name in node.names]
                files = [m for m in inside if (ROOT / f"{m.replace('.', '/')}.py").exists()]
                yield from files or [node.module]


def every_file(path):
    place = ROOT / path
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


@pytest.mark.parametrize("listed", [keys.MEASURING, keys.CERTIFYING])
def test_keys_cover_the_measuring_code_and_all_that_it_imports(listed):
    files = [file for path in listed for file in every_file(path)]
    assert len(files) > 20
    for path in files:
        for module in imported(path):
            place = module.replace(".", "/")
            known = any(place == name.removesuffix(".py") or place.startswith(name)
                        for name in listed)  # fmt: skip
            harmless = module.startswith(HARMLESS) and module != "workflows.records.thresholds"
            assert known or harmless, f"{path}: {module} is in no key"


def changed(small, key, **changes):
    return key(parse({**small, **changes}))


# Another value of every key, from that in BASE.
BASE = {"contest": {"warmup": 2, "rounds": 4, "turn": 4}, "controls": {}, "mnist": {},
        "workloads": {"mlp": {"features": 20, "samples": 400}, "mnist-cnn": {}}}  # fmt: skip
OTHER = {
    "study": "other", "title": "other", "smoke": True, "seed": 2, "replicates": 9,
    "reference": "pytorch", "contenders": [{"framework": "abacus"}], "devices": ["cpu", "gpu"],
    "threads": [2], "oversubscribe": True, "tf32": True, "workloads": {"mlp": {"features": 30}},
    "mnist.split": "test",
    "contest.together": False, "contest.warmup": 3, "contest.rounds": 5, "contest.turn": 5,
    "contest.discard": 2, "contest.timeout_s": 9, "controls.of": "all", "controls.variant": "tuned",
    "controls.twin": False, "controls.handicaps": [0.2], "controls.alone": True, "noop": True,
    "machine_speed": True, "profile": True, "loaders": ["inline"],
    "sweeps": {"mlp-batch": {"from": "mlp", "sizes": {"batch": [8, 16]}}},
    "certificate.steps": 60, "margin": 0.1, "confidence": 0.9, "target_precision": 0.01,
    "minutes": 45, "interpreters": {"abacus": sys.executable}, "isolate": True,
    "machines": {"epyc": {"partition": "cpu"}},
}  # fmt: skip

# What a certificate repeats of the turns, in the precision in which they are timed.
TIMED_AND_PROVEN = ("seed", "tf32", "workloads", "contest.warmup", "contest.rounds", "contest.turn")


def with_key(values, path, value):
    section, _, key = path.rpartition(".")
    changed = {**values.get(section, {}), key: value} if section else value
    return {**values, section or key: changed}


def every_key(study):
    """The keys of all that is measured, certified, prepared and detected."""
    return {
        "contests": [keys.contest_key(study, group) for group in study.groups],
        "certificates": [keys.certificate_key(study, "mlp", "abacus")],
        "others": [
            *(keys.dataset_key(study, name) for name in study.workloads),
            keys.detection_key(study, "abacus"),
        ],
    }


def test_another_value_of_every_key_is_tried():
    for path, _ in Configuration.scopes():
        assert any(f"{other}.".startswith(f"{path}.") for other in OTHER), path


@pytest.mark.parametrize("path", OTHER)
def test_a_key_changes_the_results_of_its_scope_and_no_others(path, small, abacus):
    both = [{"framework": "abacus"}, {"framework": "pytorch"}]
    base = {**small, **BASE, "contenders": both}
    if path == "loaders":  # which take images
        base["workloads"] = {"mlp": {"from": "alexnet-r"}}
    if path == "oversubscribe":
        base["threads"] = [1, 2 * len(available_cores())]
    before = every_key(parse(base))
    after = every_key(parse(with_key(base, path, OTHER[path])))
    scopes = dict(Configuration.scopes())
    scope = scopes.get(path, scopes.get(path.split(".")[0]))
    if scope is Scope.CONCLUSIONS:
        assert after == before
    elif scope is Scope.CERTIFICATES:
        assert after["certificates"] != before["certificates"]
        assert after["contests"] == before["contests"] and after["others"] == before["others"]
    elif scope is Scope.RESOLVED:
        assert after != before
    else:
        assert after["contests"] != before["contests"]
    if path in TIMED_AND_PROVEN:
        assert after["certificates"] != before["certificates"]


def test_a_new_key_is_in_the_key_of_contests_unless_it_is_marked(small, abacus):
    class Extended(Configuration):
        measured_with: int = 1
        shown_with: Annotated[int, Scope.CONCLUSIONS] = 1

    def key(**changes):
        return keys.contest_key(Extended.model_validate({**small, **changes}), "mlp")

    assert key(measured_with=2) != key()
    assert key(shown_with=2) == key()


def test_ratios_to_the_fastest_measure_nothing_again(small, abacus):
    assert every_key(parse({**small, "reference": "fastest"})) == every_key(parse(small))


def test_whether_a_contender_is_required_is_not_in_a_contests_key(small, abacus):
    required = [{"framework": "abacus", "required": True}]
    contests = [keys.contest_key(parse({**small, **c}), "mlp")
                for c in ({}, {"contenders": required})]  # fmt: skip
    assert contests[0] == contests[1]


def test_the_path_of_the_interpreter_matters_only_if_it_is_configured(small, abacus, monkeypatch):
    def key(study):
        return keys.contest_key(study, "mlp")

    base = changed(small, key)
    configured = changed(small, key, interpreters={"abacus": sys.executable})
    monkeypatch.setattr(sys, "executable", sys.executable + "3")
    monkeypatch.setattr(keys, "installed", lambda name, interpreter: {"abacus": "0.1"})
    elsewhere = changed(small, key)
    monkeypatch.setattr(sys, "executable", "/other/python")
    assert changed(small, key) == elsewhere
    assert configured != base


def test_mnist_is_in_the_keys_of_the_workloads_that_use_it(small, abacus, monkeypatch):
    cnn = {"mnist-cnn": {"samples": 6400}}
    study = parse({**small, "workloads": {**small["workloads"], **cnn}})
    before = [keys.dataset_key(study, name) for name in study.workloads]
    monkeypatch.setenv("SAMESTEP_MNIST", "/one/folder")
    given = [keys.dataset_key(study, name) for name in study.workloads]
    monkeypatch.setenv("SAMESTEP_MNIST", "/another/folder")
    assert [keys.dataset_key(study, name) for name in study.workloads] == given
    assert before[0] == given[0] and before[1] != given[1]


def test_versions_are_read_in_a_configured_interpreter(abacus):
    here = keys.installed("abacus", sys.executable)
    assert here["abacus"] == "0.1" and here["python"].startswith("3.") and here["numpy"]
    assert keys.installed("abacus", "/no/such/python") == {}

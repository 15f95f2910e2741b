import ast
import sys

import pytest

from tests.conftest import ROOT
from workflows.planning import provenance as keys
from workflows.planning.configfiles import parse
from workflows.planning.configuration import CONCLUDING

# Imported by what measures, and of no influence on what is measured.
HARMLESS = ("analysis", "workflows.machine", "workflows.planning", "workflows.progress",
            "workflows.records")  # fmt: skip


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
def test_what_measures_is_in_the_key_with_all_that_it_imports(listed):
    files = [file for path in listed for file in every_file(path)]
    assert len(files) > 20
    for path in files:
        for module in imported(path):
            place = module.replace(".", "/")
            known = any(place == name.removesuffix(".py") or place.startswith(name)
                        for name in listed)  # fmt: skip
            assert known or module.startswith(HARMLESS), f"{path}: {module} is in no key"


def changed(small, key, **changes):
    return key(parse({**small, **changes}))


CONCLUDING_ONLY = [
    {"replicates": 9}, {"margin": 0.1}, {"confidence": 0.9}, {"title": "other"},
    {"precision": 0.01}, {"budget_minutes": 45},
]  # fmt: skip


def test_what_is_concluded_repeats_nothing_that_comes_before(small, abacus):
    assert {key for one in CONCLUDING_ONLY for key in one} == CONCLUDING
    for key in (
        lambda study: keys.certificate_key(study, "mlp", "abacus"),
        lambda study: keys.dataset_key(study, "mlp"),
        lambda study: keys.probe_key(study, "abacus"),
    ):
        assert {changed(small, key, **same) for same in CONCLUDING_ONLY} == {changed(small, key)}


def test_what_is_concluded_is_not_in_a_contests_key(small, abacus):
    def key(study):
        return keys.contest_key(study, "mlp")

    base = changed(small, key)
    for same in CONCLUDING_ONLY:
        assert changed(small, key, **same) == base
    required = [{"framework": "abacus", "required": True}]
    assert changed(small, key, contenders=required) == base
    for other in ({"seed": 2}, {"tf32": True}, {"contest": {"rounds": 5}}, {"threads": [2]}):
        assert changed(small, key, **other) != base


def test_how_the_interpreter_is_spelt_matters_only_where_it_is_configured(
    small, abacus, monkeypatch
):
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


def test_mnist_is_in_the_keys_of_those_who_use_it(small, abacus, monkeypatch):
    cnn = {"mnist-cnn": {"samples": 6400}}
    study = parse({**small, "workloads": {**small["workloads"], **cnn}})
    before = [keys.dataset_key(study, name) for name in study.workloads]
    monkeypatch.setenv("SAMESTEP_MNIST", "/one/folder")
    given = [keys.dataset_key(study, name) for name in study.workloads]
    monkeypatch.setenv("SAMESTEP_MNIST", "/another/folder")
    assert [keys.dataset_key(study, name) for name in study.workloads] == given
    assert before[0] == given[0] and before[1] != given[1]


def test_versions_are_read_in_a_configured_interpreter_too(abacus):
    here = keys.installed("abacus", sys.executable)
    assert here["abacus"] == "0.1" and here["python"].startswith("3.") and here["numpy"]
    assert keys.installed("abacus", "/no/such/python") == {}

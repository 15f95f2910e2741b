"""A study for nodes of a cluster, planned elsewhere. Without a cluster: tests/slurm has one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, python
from tests.studies import Clone
from workflows.cluster.introduce import main as introduce_main
from workflows.cluster.nodes import NODES, Identity, introduced
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.plan import PlanError
from workflows.planning.provenance import contest_key
from workflows.records.storage import write_json

KINDS = {
    "old": {"partition": "cpu", "constraint": "xeon"},
    "new": {"partition": "gpu", "gpus": 2, "interpreters": {"abacus": "/opt/python"}},
}


def introduce(kind: str, folder: Path = Path(), cores: int = 3, machine: str = "") -> None:
    identity = Identity(machine=machine or f"cpu-of-{kind}", host=f"node-{kind}", cores=cores)
    write_json(folder / NODES / f"{kind}.json", identity)


@pytest.fixture
def study(abacus, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return parse({**small, "threads": [1, "all"], "machines": KINDS})


def test_a_kind_without_a_node_names_the_command_that_introduces_one(study):
    with pytest.raises(PlanError) as error:
        introduced(study)
    said = str(error.value)
    assert said.startswith("machines.old: no node of this kind has introduced itself yet")
    assert "--partition=cpu --constraint=xeon" in said and "--exclusive" in said
    assert f"'{sys.executable} -m workflows.cluster.introduce --kind old'" in said


def test_each_kind_has_its_node_its_cores_and_its_interpreters(study):
    introduce("old", cores=3)
    introduce("new", cores=8)
    nodes = introduced(study)
    assert [*nodes] == ["cpu-of-old", "cpu-of-new"]
    old, new = nodes.values()
    assert (old.study(study).threads, new.study(study).threads) == ([1, 3], [1, 8])
    assert (old.study(study).interpreters, new.study(study).interpreters) == (
        {},
        {"abacus": "/opt/python"},
    )
    assert old.asked(whole=False) == {
        "slurm_partition": "cpu",
        "constraint": "xeon",
        "slurm_extra": "--nodelist=node-old",
    }
    assert new.asked(whole=True) == {
        "slurm_partition": "gpu",
        "gres": "gpu:2",
        "slurm_extra": "--exclusive --nodelist=node-new",
    }


def test_what_a_node_measures_has_the_key_of_a_local_study(study, small):
    """Whatever the cores of the login node are, and whatever the kinds are called."""
    introduce("old", cores=3)
    introduce("new")
    there = introduced(study)["cpu-of-old"].study(study)
    assert contest_key(there, "mlp") == contest_key(parse({**small, "threads": [1, 3]}), "mlp")


def test_two_kinds_with_one_node_are_refused(study):
    introduce("old", machine="same")
    introduce("new", machine="same")
    with pytest.raises(PlanError, match="old and new are the same node, node-new"):
        introduced(study)


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ({"old": {"partitoin": "cpu"}}, "did you mean 'partition'"),
        ({"../old": {}}, "machines"),
        ({"old": {"interpreters": {"jax": "/opt/python"}}}, "'jax' is not among the contenders"),
    ],
)
def test_errors_name_the_key(abacus, small, machines, message):
    with pytest.raises(ConfigurationError, match=message):
        parse({**small, "machines": machines})


def test_a_node_introduces_itself(tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SAMESTEP_MACHINE": "an-epyc",
        "SLURMD_NODENAME": "node7",
    }
    command = [sys.executable, "-m", "workflows.cluster.introduce", "--kind", "old"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    found = json.loads((tmp_path / NODES / "old.json").read_text())
    assert (found["machine"], found["host"]) == ("an-epyc", "node7")
    assert found["cores"] == len(os.sched_getaffinity(0))


def test_one_study_is_planned_for_several_kinds_of_node(small, tmp_path):
    """By a login node that is another machine."""
    study = Clone(tmp_path / "clone", {**small, "machines": KINDS | {"new": {}}}, machine="login")
    assert "no node of this kind has introduced itself" in study.snakemake("-n", fails=True)
    introduce("old", study.folder)
    introduce("new", study.folder)
    plan = study.snakemake("--dry-run")
    for kind in KINDS:
        assert f"results/cpu-of-{kind}/small/contests/mlp/1.json" in plan
        assert f"slurm_extra=--exclusive --nodelist=node-{kind}" in plan
    assert "results/login" not in plan


@pytest.mark.all
def test_contests_of_another_machine_are_not_measured_here(small, tmp_path):
    """As by a node whose processor was exchanged, or that is not like its brothers."""
    study = Clone(tmp_path / "clone", small)
    study.snakemake("--until", "detect", "prepare")
    study.variables["SAMESTEP_MACHINE"] = "another"
    study.variables["PYTHONPATH"] += f"{os.pathsep}{study.folder}"
    folder = study.results.relative_to(study.folder)
    contest = ("workflows.measure.contest", "--group", "mlp", "--replicate", "1")
    words = ("-m", *contest, "--study", str(folder))
    done = python(*words, cwd=study.folder, env=study.variables)
    assert done.returncode == 1 and not list(study.results.glob("contests/*/*"))
    assert "this machine is another, and these results are of here" in done.stderr
    assert "Contests of different machines are not pooled." in done.stderr


@pytest.mark.parametrize("kind", ["../../elsewhere", "", "a b", "/tmp/x"])
def test_a_kind_is_a_name_and_no_path(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["introduce", "--kind", kind])
    with pytest.raises(SystemExit):
        introduce_main()
    assert "a name has letters, digits, - and _ only" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

"""A whole study on a real SLURM, which this test starts on this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.conftest import ROOT
from tests.slurm.cluster import cluster, missing, run
from tests.studies import Clone
from workflows.machine.fingerprint import available_cores, fingerprint

pytestmark = pytest.mark.all
SLURM = ("--workflow-profile", "profiles/slurm", "--configfile", "config/smoke.yaml", "mine.yaml",
         "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2",
         "--set-resources", "contest:mem_mb=2000")  # fmt: skip
LOCAL = ("--cores", "1", "--configfile", "config/smoke.yaml", "small.yaml")
# The smoke study with one framework and one workload: each of its jobs starts Snakemake twice.
SMALLER = {
    "workloads": {"mnist-cnn": False},
    "contenders": [{"framework": "pytorch", "variants": ["default", "tuned"]}],
}


@pytest.fixture
def slurm():
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="pip install -e .[slurm]")
    if reason := missing():
        pytest.skip(f"no SLURM here: {reason}")
    with cluster():
        yield


def shape(value: Any) -> Any:
    """A record without what differs from run to run: its keys, and the kinds of their values."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return "number" if type(value) in (int, float) else type(value).__name__


def records(study: Clone) -> dict[str, Any]:
    found = [*study.results.glob("*/*.json"), *study.results.glob("*/*/*.json")]
    return {
        path.relative_to(study.results).as_posix(): shape(json.loads(path.read_text()))
        for path in found
        if path.parent.name not in ("spent", "reference")
    }


def who(study: Clone) -> list[list[tuple[str, str]]]:
    """The contenders of each contest, and of each certificate, with how they ended."""
    certificates = sorted(study.results.glob("certificates/*/*.json"))
    lists = [contest["contenders"] for contest in study.contests()]
    lists += [json.loads(path.read_text())["rows"] for path in certificates]
    return [[(one["framework"], one["variant"], one["status"]) for one in own] for own in lists]


def losses(study: Clone) -> pd.DataFrame:
    """Of every mini-batch, by who computed it."""
    own = ["workload", "replicate", "framework", "variant", "round", "step"]
    rows = study.rows()
    return rows[rows.framework != "machine"].set_index(own).sort_index()[["loss"]]


def small_clone(folder: Path) -> Clone:
    default = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    study = Clone(folder, default)
    del study.variables["SAMESTEP_MACHINE"]
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALLER))
    (folder / "mine.yaml").write_text(yaml.safe_dump({**SMALLER, "machines": {"one": {}}}))
    study.results = folder / "results" / fingerprint() / "smoke"
    return study


def on_the_login_node(study: Clone, *arguments: str) -> subprocess.Popen:
    """Snakemake as on another machine than the node: here, on one core of it."""
    one = str(available_cores()[0])
    return subprocess.Popen(
        ["taskset", "--cpu-list", one, sys.executable, "-m", "snakemake", *SLURM, *arguments],
        cwd=study.folder, env=study.variables, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_a_study_through_slurm_killed_and_resumed_gives_a_local_studys_records(slurm, tmp_path):
    study = small_clone(tmp_path / "cluster")
    said, _ = on_the_login_node(study).communicate(timeout=120)
    (command,) = [line.strip() for line in said.splitlines() if "sbatch --wait" in line]
    subprocess.run(command, shell=True, cwd=study.folder, env=study.variables, check=True)
    running = on_the_login_node(study)
    deadline = time.monotonic() + 300
    while not list(study.results.glob("contests/*/*.json")):
        assert time.monotonic() < deadline and running.poll() is None, running.communicate()[0]
        time.sleep(0.2)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    run("scancel", "--user=root")
    kept = {path: path.stat().st_mtime_ns for path in study.results.glob("detections/*.json")}
    assert kept
    on_the_login_node(study, "--unlock").communicate(timeout=120)
    resumed = on_the_login_node(study)
    said, _ = resumed.communicate(timeout=600)
    assert resumed.returncode == 0, said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    # The login node has one core, and is therefore another machine.
    assert [path.name for path in (study.folder / "results").glob("*-*")] == [fingerprint()]
    assert "report.html" in {path.name for path in (study.folder / "reports/smoke").iterdir()}

    local = small_clone(tmp_path / "local")
    local.snakemake(*LOCAL[2:])
    assert who(study) == who(local)
    assert records(study) == records(local)
    pd.testing.assert_frame_equal(losses(study), losses(local))

"""Whole studies through Snakemake, in copies of the clone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.conftest import PACKAGES, ROOT

COPIED = (
    "Snakefile",
    "pyproject.toml",
    "config",
    "profiles",
    "frameworks",
    "workflows",
    "analysis",
)


class Clone:
    """A copy of the repository with a small study in `config/small.yaml`."""

    def __init__(self, folder: Path, configuration: dict, machine: str = "here") -> None:
        self.folder = folder
        folder.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                shutil.copy(source, folder / name)
        # Whole, in place of the default: what is laid over a mapping cannot take a key away.
        self.configure(configuration)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(PACKAGES / "abacus"),
            "SAMESTEP_MACHINE": machine,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self.results = folder / "results" / machine / configuration["study"]
        self.report = folder / "reports" / configuration["study"]

    def configure(self, configuration: dict) -> None:
        (self.folder / "config" / "study.yaml").write_text(yaml.safe_dump(configuration))

    def command(self, *arguments: str, cores: int = 1) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments]

    def snakemake(self, *arguments: str, cores: int = 1, fails: bool = False) -> str:
        """Everything it prints; it must succeed unless it `fails`."""
        done = subprocess.run(
            self.command(*arguments, cores=cores),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        output = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, output
        return output

    def would_run(self) -> set[str]:
        """The rules of a dry run."""
        output = self.snakemake("--dry-run", "--quiet", "host", "reason")
        return {line.split()[1].rstrip(":") for line in output.splitlines()
                if line.startswith(("rule ", "localrule "))}  # fmt: skip

    def rows(self, workload: str = "mlp") -> pd.DataFrame:
        tables = sorted(self.results.glob(f"contests/{workload}/*.parquet"))
        return pd.concat([pd.read_parquet(table) for table in tables])

    def contests(self, workload: str = "mlp") -> list[dict]:
        found = sorted(self.results.glob(f"contests/{workload}/*.json"))
        return [json.loads(path.read_text()) for path in found]


@pytest.fixture
def clone(tmp_path, small):
    def make(**changes):
        return Clone(tmp_path / "a clone", {**small, "replicates": 2, **changes})

    return make


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n# edited\n")


def test_a_study_from_nothing_to_its_report_and_nothing_twice(clone):
    study = clone(devices=["cpu", "gpu"])
    output = study.snakemake()
    assert "contest 2/2: mlp" in output and "round 4/4 | abacus/default/cpu/1" in output
    for name in ("report.html", "report.md", "tables/contenders.csv", "tables/comparisons.csv",
                 "tables/missing.csv", "tables/devices.csv", "tables/certificate.csv",
                 "tables/settings.csv", "tables/machine.csv"):  # fmt: skip
        assert (study.report / name).stat().st_size > 0, name
    assert list(study.report.glob("figures/*.svg")) and list(study.report.glob("figures/*.png"))
    missing = pd.read_csv(study.report / "tables" / "missing.csv")
    assert "an abacus has no GPU" in set(missing.reason)
    assert "Nothing to be done" in study.snakemake()

    # Conclusions are not measurements: editing them re-measures nothing.
    edit(study.folder / "analysis" / "statistics.py")
    assert study.would_run() == {"report", "verdict", "all"}
    study.snakemake()
    assert "Nothing to be done" in study.snakemake()

    # The report says how it was made, overrides included.
    study.snakemake("--config", "margin=0.1")
    assert "--config margin=0.1" in (study.report / "report.md").read_text()

    # More replicates: only the new ones are measured.
    before = {path: path.stat().st_mtime_ns for path in study.results.glob("contests/*/*")}
    configuration = yaml.safe_load((study.folder / "config" / "study.yaml").read_text())
    study.configure({**configuration, "replicates": 3})
    study.snakemake()
    assert len(study.contests()) == 3
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert len({contest["configuration"] for contest in study.contests()}) == 1
    assert "different configurations" not in (study.report / "report.md").read_text()


def test_an_edited_adapter_is_measured_again_and_nothing_else(clone, tmp_path):
    """A framework in a folder beside the others, so that the edit touches no shared file."""
    study = clone(replicates=1)
    beside = tmp_path / "beside"
    shutil.copytree(PACKAGES / "abacus", beside)
    study.environment["PYTHONPATH"] = str(beside)
    study.snakemake()
    edit(beside / "abacus.py")
    assert {"contest", "certify", "reference", "report"} <= study.would_run()
    assert "prepare" not in study.would_run()


def test_adding_a_contender_measures_its_contests_again(clone):
    study = clone(replicates=1)
    study.snakemake()
    configuration = yaml.safe_load((study.folder / "config" / "study.yaml").read_text())
    both = [{"framework": "abacus", "variants": ["default", "slow"]}]
    study.configure({**configuration, "contenders": both})
    assert "contest" in study.would_run()
    study.snakemake()
    assert set(study.rows().variant) == {"default", "slow"}


def test_cores_change_nothing_that_is_measured(clone, tmp_path, small):
    contenders = [{"framework": "abacus", "variants": ["default", "slow"]}]
    workloads = {
        "mlp": small["workloads"]["mlp"],
        "other": {"from": "mlp", "features": 30, "hidden": [8], "samples": 400, "batch": 4},
    }
    study = clone(contenders=contenders, workloads=workloads)
    study.snakemake(cores=2)
    rows = pd.concat([study.rows("mlp"), study.rows("other")])
    spans = rows.groupby(["workload", "replicate"]).start_ns.agg(["min", "max"]).sort_values("min")
    assert len(spans) == 4
    assert (spans["min"].to_numpy()[1:] > spans["max"].to_numpy()[:-1]).all(), spans
    alone = Clone(tmp_path / "alone", {**small, "contenders": contenders})
    alone.snakemake(cores=1)

    def settings(contest):
        return [(c["variant"], c["settings"], c["cores"]) for c in contest["contenders"]]

    assert settings(study.contests()[0]) == settings(alone.contests()[0])


def test_two_studies_on_one_machine_take_turns(tmp_path, small):
    clones = [Clone(tmp_path / name, {**small, "replicates": 2}) for name in ("one", "two")]
    running = [
        subprocess.Popen(
            clone.command(), cwd=clone.folder, env=clone.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for clone in clones
    ]  # fmt: skip
    assert [process.wait(300) for process in running] == [0, 0]
    spans = []
    for number, clone in enumerate(clones):
        rows = clone.rows().groupby("replicate").start_ns.agg(["min", "max"])
        spans += [(row["min"], row["max"], number) for _, row in rows.iterrows()]
    spans.sort()
    assert all(later[0] > earlier[1] for earlier, later in pairwise(spans))


def test_a_failed_contender_costs_neither_the_report_nor_the_others(clone):
    study = clone(contenders=[{"framework": "abacus", "variants": ["default", "raises"]}])
    output = study.snakemake(fails=True)
    assert "no beads left" in output
    contenders = pd.read_csv(study.report / "tables" / "contenders.csv").set_index("variant")
    assert contenders.loc["default", "median_ms"] > 0
    assert "no beads left" in contenders.loc["raises", "reason"]
    assert "no beads left" in (study.report / "report.md").read_text()
    # What failed, and nothing else, is to be done again.
    assert {"contest", "certify"} <= study.would_run()
    assert not {"prepare", "probe", "reference"} & study.would_run()
    # What fails in the same way again is kept, and with it what the others measured.
    assert "failed as before" in study.snakemake(fails=True)
    assert study.would_run() == {"verdict", "all"}


def test_killed_half_way_it_goes_on_where_it_was(clone):
    study = clone(replicates=3)
    process = subprocess.Popen(
        study.command(), cwd=study.folder, env=study.environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(study.contests()) < 2:  # then the first is done for Snakemake too
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    oldest = min(study.results.glob("contests/mlp/*.json"), key=lambda path: path.stat().st_mtime)
    first = {oldest: oldest.stat().st_mtime_ns}
    assert "locked" in study.snakemake(fails=True).lower()
    study.snakemake("--unlock")
    study.snakemake()
    assert len(study.contests()) == 3
    assert {path: path.stat().st_mtime_ns for path in first} == first


def test_results_of_another_machine_join_the_report(clone):
    study = clone(replicates=2)
    study.environment["SAMESTEP_MACHINE"] = "elsewhere"
    study.snakemake()
    study.environment["SAMESTEP_MACHINE"] = "here"
    study.snakemake()
    contenders = pd.read_csv(study.report / "tables" / "contenders.csv")
    assert set(contenders.machine) == {"here", "elsewhere"}
    assert len(contenders) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"replicats": 2}, "did you mean 'replicates'"),
        ({"contenders": [{"framework": "abakus"}]}, "unknown framework 'abakus'"),
    ],
)
def test_a_bad_configuration_ends_before_anything_is_done(clone, changes, message):
    study = clone(**changes)
    output = study.snakemake(fails=True)
    assert message in output
    assert "Traceback" not in output and len(output.splitlines()) < 25
    assert not (study.folder / "results").exists()


def test_a_required_contender_that_is_missing_ends_the_study_early(clone):
    entry = {"framework": "abacus", "devices": ["gpu"], "required": True}
    output = clone(contenders=[{"framework": "abacus"}, entry]).snakemake(fails=True)
    assert "abacus/default/gpu/1 is required, but: an abacus has no GPU" in output


def test_the_smoke_study_with_the_real_frameworks(tmp_path):
    """`snakemake --cores 1 --configfile config/smoke.yaml`, as in the README, a replicate less."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    default = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    study = Clone(tmp_path / "clone", default, machine="here")
    study.results = study.folder / "results" / "here" / "smoke"
    begin = time.monotonic()
    study.snakemake("--configfile", "config/smoke.yaml", "--config", "replicates=2")
    print(f"\nsmoke study: {time.monotonic() - begin:.0f} s")
    report = study.folder / "reports" / "smoke"
    html = (report / "report.html").read_text()
    assert "smoke" in html.lower()
    comparisons = pd.read_csv(report / "tables" / "comparisons.csv")
    measured = comparisons[(comparisons.device == "cpu")]
    assert set(measured.workload) == {"mlp", "mnist-cnn"}
    assert measured.ratio.between(0.01, 100).all()
    controls = pd.read_csv(report / "tables" / "controls.csv")
    assert set(controls.variant) == {"tuned+twin", "tuned+paused", "tuned+25%"}
    assert controls.ratio.notna().all()
    certificates = pd.read_csv(report / "tables" / "certificate.csv")
    cpu = certificates[certificates.device == "cpu"]
    assert set(cpu.status) == {"agrees", "declared"}
    assert set(cpu[cpu.status == "declared"].variant) == {"default"}

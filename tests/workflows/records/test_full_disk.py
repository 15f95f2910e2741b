"""A disk that is full, or read-only: one line, and nothing half-written."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from analysis.__main__ import main as analyse
from samestep.__main__ import main as samestep
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import DISK, ROOT, fill
from tests.studies import Clone
from workflows.measure import contest
from workflows.output import REMEDIES
from workflows.planning.opening import NotReady, opening
from workflows.planning.plan import StudyRequest, load_study
from workflows.records.folders import Folders
from workflows.records.machine_folder import FILES
from workflows.records.storage import read_json
from workflows.stages import collect, detect, prepare

# What says that the disk is full, and bytes of room, one run after the other. Data sets need about
# 110,000, and reports more than all.
STAGES = ("disk full", "certificate", "contest", "analysis")
ROOMS = [0, 16_000, 112_000, 136_000, 160_000, DISK]
SMALL = Recipe(
    workloads=("mnist-cnn",), threads=(1,), variants=("default",), replicates=2, rounds=2
)


def read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)


def everything(disk: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(disk.rglob("*")) if path.is_file()}


def one_line(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> None:
    said = capsys.readouterr()
    assert status in (1, 2) and said.err.count("\n") == 1, said
    assert any(word in said.err for word in words), said.err


@pytest.mark.parametrize("left", [0, 8192, 65536])
def test_a_report(
    disk: Path, tmp_path: Path, left: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report of before stays whole, whatever part of the next one fits."""
    folder = write(tmp_path / "one", SMALL)
    for name in ("report.html", "report.md", "tables/pairs.csv"):
        (disk / name).parent.mkdir(exist_ok=True)
        (disk / name).write_text("before")
    fill(disk, left)
    before = everything(disk)
    one_line(capsys, analyse([str(folder), "--out", str(disk)]), "No space left")
    assert everything(disk) == before


def test_collected_records(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "one", SMALL)
    fill(disk, 4096)
    monkeypatch.setattr("sys.argv", ["collect", str(folder), "--out", str(disk / "out")])
    one_line(capsys, collect.main(), "No space left on device: make room")
    assert set(everything(disk)) <= {disk / "full", *(disk / "out" / name for name in FILES)}
    assert not list(disk.rglob("*.partial"))


@pytest.mark.parametrize(
    ("stage", "about", "found"),
    [(prepare, "--workload=mlp", []), (detect, "--framework=abacus", ["found Abacus 0.1"])],
)
def test_a_data_set_and_a_detection(
    disk: Path, study, capsys, monkeypatch, stage: ModuleType, about: str, found: list[str]
) -> None:
    made = study()
    place = Folders(disk / "small")
    place.root.mkdir()
    place.study.write_bytes(made.folders.study.read_bytes())
    fill(disk)
    monkeypatch.setattr("sys.argv", ["stage", "--study", str(place.root), about])
    assert stage.main() == 1
    *noted, last = capsys.readouterr().err.splitlines()
    assert "disk full" in last or "No space left" in last
    assert [line.partition("] ")[2] for line in noted] == found
    assert set(everything(disk)) == {disk / "full", place.study}
    assert load_study(place).study == "small"


@pytest.mark.parametrize("left", [pytest.param(0, marks=pytest.mark.all), 8192])
def test_a_certificate_whose_temporary_files_have_no_room(
    disk: Path, study, monkeypatch, left: int
) -> None:
    """Neither the contender is at fault, nor the reference."""
    made = study()
    made.certificate()
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    fill(disk, left)
    with pytest.raises(OSError, match="No space left on device"):
        made.certificate()
    shutil.rmtree(made.folders.reference("mlp"))
    with pytest.raises(OSError, match="No space left on device"):
        made.certificate()


def test_a_contest(disk: Path, study, capsys, monkeypatch) -> None:
    made = study()
    place = Folders(disk / "small")
    for path in (made.folders.study, made.folders.detection("abacus")):
        copy = place.root / path.relative_to(made.folders.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    place.data.symlink_to(made.folders.data)
    fill(disk)
    before = everything(disk)
    words = ["contest", "--study", str(place.root), "--group", "mlp", "--replicate", "1"]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setenv("SAMESTEP_MACHINE", read_json(place.study, StudyRequest).machine)
    assert contest.main() == 1
    said = capsys.readouterr().err
    assert "No space left on device: make room" in said and "Traceback" not in said
    assert {path: text for path, text in everything(disk).items() if text} == before
    (disk / "full").unlink()
    assert contest.main() == 0
    capsys.readouterr()
    read_only(disk)
    monkeypatch.setattr("sys.argv", [*words[:-1], "2"])
    assert contest.main() == 1
    said = capsys.readouterr().err
    assert "Read-only file system" in said and "Traceback" not in said


def test_what_is_read_only(disk: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    folder = write(tmp_path / "one", SMALL)
    read_only(disk)
    one_line(capsys, analyse([str(folder), "--out", str(disk / "out")]), "Read-only")
    monkeypatch.setattr("sys.argv", ["collect", str(folder), "--out", str(disk / "out")])
    one_line(capsys, collect.main(), "Read-only")
    one_line(capsys, samestep(["new", "mine", "--package", "--into", str(disk / "x")]), "Read-only")


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        ("samestep plan", ""),
        ("samestep list", "1"),
        ("samestep list", ""),
        pytest.param("samestep workload mlp", "1", marks=pytest.mark.all),
        pytest.param("samestep report", "", marks=pytest.mark.all),
        ("analysis", ""),
        pytest.param("analysis", "1", marks=pytest.mark.all),
        pytest.param("analysis.repeats", "", marks=pytest.mark.all),
        pytest.param("analysis.repeats", "1", marks=pytest.mark.all),
        pytest.param("analysis.literature", "", marks=pytest.mark.all),
        pytest.param("analysis.repeats.calibration", "1", marks=pytest.mark.all),
        ("workflows.planning.configfiles", ""),
    ],
)
def test_output_that_does_not_fit(tmp_path: Path, command: str, unbuffered: str) -> None:
    """`samestep ... > file` on a full disk, and `python -m ...` too."""
    module, *words = command.split()
    made = [str(write(tmp_path / f"{y}", replace(SMALL, year=y))) for y in (2025, 2026)]
    if command in ("samestep report", "analysis"):
        words += [made[0], "--out", str(tmp_path / "out")]
    elif command == "analysis.literature":
        words += ["--out", str(tmp_path / "out")]
    elif command == "analysis.repeats":
        words += made
    elif command == "analysis.repeats.calibration":
        words += ["reports/aa"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", module, *words], cwd=ROOT, text=True, stdout=full,
            stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    name = "schema" if "configfiles" in module else module.rpartition(".")[2]
    assert done.stderr == f"{name}: No space left on device: {REMEDIES[errno.ENOSPC]}\n"
    assert done.returncode == 2


def test_temporary_files_elsewhere(disk: Path, tmp_path: Path, study, monkeypatch) -> None:
    """A small file system for temporary files is seen before anything is measured."""
    asked, folders = study().plan.study, Folders(tmp_path / "results")
    opening(asked, folders, lambda line: "mine.yaml", "r")
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(NotReady, match=f"^{disk}: the study writes 10 MB, and 4 MB are free"):
            opening(asked, folders, lambda line: "mine.yaml", "r")
    monkeypatch.chdir(disk)
    with pytest.raises(NotReady, match=r"^\.snakemake: the study writes 5 MB, .* work on another"):
        opening(asked, folders, lambda line: "mine.yaml", "r")


@pytest.mark.all
def test_a_whole_study_that_may_not_write_or_lock(disk: Path, tmp_path: Path, small) -> None:
    """It says so before it measures, and goes on when that is mended."""
    clone = Clone(tmp_path / "a clone", small)
    (disk / "reports").mkdir()
    (clone.folder / "reports").symlink_to(disk / "reports")
    read_only(disk)
    said = clone.snakemake(fails=True)
    assert "reports/small: nothing can be written there. Make it writable" in said
    assert not clone.results.exists() and "Traceback" not in said
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    own = tmp_path / "temporary" / f"samestep-{os.getuid()}.lock"
    own.mkdir(parents=True)
    before = clone.variables
    clone.variables = {**before, "TMPDIR": str(own.parent), "SAMESTEP_LOCK": str(tmp_path)}
    said = clone.snakemake("--until", "prepare", fails=True)
    assert f"{own}: Is a directory: set SAMESTEP_LOCK to a file" in said
    assert "Traceback" not in said
    clone.variables = before
    clone.snakemake()
    assert (clone.report / "report.html").exists()


@pytest.mark.all
def test_a_whole_study_whichever_write_is_full(disk: Path, tmp_path: Path, small) -> None:
    """Each run has a little more room than the one before. It says in a line what was full, leaves
    nothing half-written, and goes on from what was made before."""
    clone = Clone(tmp_path / "a clone", small)
    for name in ("results", "reports"):
        (disk / name).mkdir()
        (clone.folder / name).symlink_to(disk / name)
    asked = clone.folder / "workflows" / "planning" / "needs.py"  # which would refuse to begin
    asked.write_text(asked.read_text().replace("LOGS_BYTES = 50e6", "LOGS_BYTES = -1e9"))
    stopped = set()
    for left in ROOMS:
        (disk / "full").unlink(missing_ok=True)
        fill(disk, left)
        done = subprocess.run(
            [sys.executable, "-m", "workflows.stages.run"],
            cwd=clone.folder, env=clone.variables, capture_output=True, text=True,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        for path in (disk / "results").rglob("*.json"):
            json.loads(path.read_text())
        assert not list(disk.rglob("*.partial")), said
        if not done.returncode:
            break
        assert "No space left on device" in said or "disk full" in said, said
        stopped |= {stage for stage in STAGES if f"{stage}:" in said or f"{stage} mlp" in said}
    assert not done.returncode and stopped == {*STAGES}
    assert (clone.report / "report.html").exists() and len(clone.contests()) == 1

"""A study's records as one file: what goes in comes out, and nothing else is let in."""

import errno
import os
import random
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from benchmarks.fuzz.changes import changed_bytes
from samestep.__main__ import main
from samestep.archives import unpack
from samestep.terminal import Problem
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from workflows.records.machine_folder import FILES

SMALL = Recipe(workloads=("mlp",), threads=(1,), variants=("default",), replicates=2)
RECORDS = "machines/here/records.json.zst"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "reports" / "mine" / "machines" / SMALL.machine, SMALL)
    assert main(["share", "mine"]) == 0
    return tmp_path / "mine.zip"


def test_the_report_of_an_archive_is_that_of_its_study(archive: Path) -> None:
    assert main(["report", "mine"]) == 0
    archive.rename("theirs.zip")
    assert main(["report", "theirs.zip"]) == 0
    own, theirs = (Path("reports", name, "tables", "pairs.csv") for name in ("mine", "theirs"))
    assert own.read_bytes() == theirs.read_bytes()


def test_nothing_is_overwritten(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = archive.read_bytes()
    assert main(["share", "mine"]) == 2
    assert archive.read_bytes() == before
    assert main(["report", "mine.zip"]) == 2
    said = capsys.readouterr().err
    assert "mine.zip is there already" in said and "reports/mine is there already" in said


@pytest.mark.parametrize(
    "name",
    ["../evil", "machines/../../evil", "/etc/evil", "machines/here/records.json.zst/x", "evil.py",
     "machines/a b/batches.parquet", "machines/.hidden/turns.parquet"],
)  # fmt: skip
def test_other_files_are_refused_and_not_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "inside"
    place.mkdir()
    monkeypatch.chdir(place)
    with zipfile.ZipFile("theirs.zip", "w") as found:
        found.writestr(RECORDS, b"x")
        found.writestr(name, b"x")
    assert main(["report", "theirs.zip"]) == 2
    assert "is no file of records" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "theirs.zip"]


def test_a_file_that_is_there_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile("theirs.zip", "w") as found:
        for content in (b"x", b"y"):
            found.writestr(RECORDS, content)
    assert main(["report", "theirs.zip"]) == 2
    assert f"{RECORDS!r} is there twice" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_refused_in_words(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("theirs.zip").write_bytes(content)
    assert main(["report", "theirs.zip"]) == 2
    assert capsys.readouterr().err.startswith("samestep: theirs.zip")
    assert not Path("reports").exists()


def test_damaged_records_in_an_archive_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("theirs.zip", "w") as found:
        for name in ("records.json.zst", "batches.parquet", "turns.parquet"):
            found.writestr(f"machines/here/{name}", b"garbage")
    for _ in range(2):  # a second attempt finds nothing of the first
        assert main(["report", "theirs.zip"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("samestep: theirs.zip/machines/here/records.json.zst: ")
        assert said.count("\n") == 1 and not list(Path().glob("reports/*"))


def test_two_starts_of_one_machine_are_shared_and_stand_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for year in (2024, 2025):
        folder = Path("reports", "mine", "machines", str(year))
        write(folder, replace(SMALL, year=year, seed=year))
    assert main(["share", "mine"]) == 0
    Path("mine.zip").rename("theirs.zip")
    assert main(["report", "theirs.zip"]) == 0
    page = Path("reports/theirs/report.md").read_text()
    assert f"\n## {SMALL.machine}_2024-01-02\n" in page
    assert f"\n## {SMALL.machine}_2025-01-02\n" in page


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of files that are no records, but have their names."""
    monkeypatch.chdir(tmp_path)
    archive = Path("theirs.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as found:
        for name in FILES:
            found.writestr(f"machines/here/{name}", random.Random(name).randbytes(300) * 4)
    return archive


def test_whatever_is_damaged_is_one_line_and_nothing_is_left(theirs: Path) -> None:
    whole, draw, damaged = theirs.read_bytes(), random.Random(1), 0
    for _ in range(1000):
        theirs.write_bytes(changed_bytes(whole, draw)[0])
        with pytest.raises(Problem) as caught:
            unpack(theirs)
        said = str(caught.value)
        assert said.startswith("theirs.zip") and "\n" not in said
        damaged += "not a readable archive" in said
        assert not list(Path().glob("reports/*"))
    assert damaged > 300


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_half_an_archive_is_not_kept(
    error: BaseException, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Path] = []

    def copy(source: object, target: BinaryIO) -> None:
        begun.append(Path(target.name))
        assert begun[-1].exists() and not Path("reports/theirs").exists()
        if len(begun) == 2:
            raise error

    monkeypatch.setattr("shutil.copyfileobj", copy)
    with pytest.raises((Problem, KeyboardInterrupt), match=r"No space left: make room|^$"):
        unpack(theirs)
    assert len(begun) == 2 and not list(Path().glob("reports/*"))


def test_a_link_in_the_way_leads_nowhere(archive: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path("reports/.theirs.partial").symlink_to(elsewhere)
    unpack(archive.rename("theirs.zip"))
    assert not Path("reports/theirs").is_symlink() and not [*elsewhere.iterdir()]


def test_what_is_there_stays_if_nothing_can_be_written(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what somebody else has put there since."""
    archive.rename("kept.zip")

    def full(*_: object, **__: object) -> object:
        Path("kept.zip").rename(archive)
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    assert main(["share", "mine"]) == 2
    assert archive.exists() and "No space left: make room" in capsys.readouterr().err


def test_an_archive_is_there_whole_or_not_at_all(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.unlink()

    def half(*words: object) -> None:
        Path(str(words[1])).write_bytes(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr("samestep.commands.share.pack", half)
    with pytest.raises(KeyboardInterrupt):
        main(["share", "mine"])
    assert not list(Path().glob("*.zip")) and not list(Path().glob(".*.partial"))


def test_a_pipe_is_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be waited for without end."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("theirs.zip")
    assert main(["report", "theirs.zip"]) == 2
    assert capsys.readouterr().err == "samestep: theirs.zip: not a file\n"


def test_names_of_archives_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "a\x1b[31m.zip"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["a b"], ["mine", "--out", "x.y.zip"]])
def test_no_archive_has_a_name_that_would_be_refused(
    words: list[str], archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree("reports/mine", "a b")
    archive.unlink()
    assert main(["share", *words]) == 2
    assert "name the file like a study" in capsys.readouterr().err
    assert not list(Path().glob("*.zip"))

"""Tables of others: damaged ones are named in a line, and their texts stay texts."""

import shutil
from pathlib import Path

import pytest

from analysis.literature.__main__ import main
from analysis.literature.judging.claims import judge
from analysis.literature.page import page
from analysis.literature.studies import StudyTables
from tests.conftest import ROOT

ATTACK = "<img src=x onerror=alert(1)> [x](javascript:alert(2)) https://evil.example"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The tables of a committed study."""
    shutil.copytree(ROOT / "reports" / "reference" / "tables", tmp_path / "study" / "tables")
    return tmp_path / "study"


DAMAGED = {
    "bytes": b"\xff\xfe\x00a",
    "no number": b"axis,framework,variant\nframework,a\n",
    "huge": b"axis\n" + b"x" * 200_000 + b"\n",
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_table_is_a_line_and_nothing_is_written(
    study: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "tables" / "pairs.csv").write_bytes(DAMAGED[how])
    out = study.parent / "out"
    assert main([str(study), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"literature: {study}") and said.count("\n") == 1
    assert not out.exists()


def test_a_row_that_ends_early_is_a_line(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = study / "tables" / "pairs.csv"
    whole = path.read_text()
    path.write_text(whole[: whole.rindex(",", 0, -40)])
    assert main([str(study), "--out", str(study.parent / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"literature: {path}: line {whole.count(chr(10))} has another number")


def test_why_hardware_is_missing_stays_a_text() -> None:
    theirs = StudyTables("planted", (), frozenset({"cpu"}), {"gpu": ATTACK})
    text = page(judge([theirs]), [theirs], [])
    assert "onerror" in text and "<img src=x" not in text
    assert "](javascript" not in text and "https://evil" not in text

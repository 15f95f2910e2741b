"""Tables of others: damaged ones are named in a line, and their texts stay texts."""

import csv
import shutil
from pathlib import Path

import pytest

from analysis.literature.__main__ import main
from analysis.literature.judging.claims import judge
from analysis.literature.page import page
from analysis.literature.studies import StudyTables
from tests.analysis.literature.conftest import write_tables
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


@pytest.mark.parametrize("column", ["machine", "workload", "framework", "against"])
def test_a_name_that_is_none_is_a_line(
    study: Path, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(study / "tables" / "pairs.csv", {column: "=1+1"})
    assert main([str(study), "--out", str(study.parent / "out")]) == 1
    said = capsys.readouterr().err
    assert said.endswith(f"pairs.csv: line 2: =1+1 is no {column}\n")


def test_a_reason_is_no_formula(tmp_path: Path) -> None:
    write_tables("parallel", tmp_path / "study")
    change(tmp_path / "study" / "tables" / "pairs.csv", {"reason": "=HYPERLINK(1);=1"})
    assert main([str(tmp_path / "study"), "--out", str(tmp_path / "out")]) == 0
    assert ",'=HYPERLINK(1);'=1\n" in (tmp_path / "out" / "parallel.csv").read_text()


def change(path: Path, values: dict[str, str]) -> None:
    """Put others' values into every row of a table."""
    with path.open(newline="") as file:
        rows = [row | values for row in csv.DictReader(file)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_why_hardware_is_missing_stays_a_text() -> None:
    theirs = StudyTables("planted", (), frozenset({"cpu"}), {"gpu": ATTACK})
    text = page(judge([theirs]), [theirs], [])
    assert "onerror" in text and "<img src=x" not in text
    assert "](javascript" not in text and "https://evil" not in text

"""Changed configurations and records: refused in one line, or accepted, and nothing else."""

import sys

import pytest

from benchmarks.fuzz.__main__ import main


@pytest.mark.parametrize(
    "cases", [pytest.param(200, marks=pytest.mark.brief), pytest.param(2000, marks=pytest.mark.all)]
)
def test_nothing_escapes(cases, monkeypatch, capsys):
    """What escaped is printed with its seed and number, by which it is repeated."""
    words = ["--cases", str(cases), "--seed", "20", "--reported", "0.003"]
    monkeypatch.setattr(sys, "argv", ["fuzz", *words])
    status = main()
    output = capsys.readouterr().out
    assert status == 0 and "escaped: nothing" in output, output
    for group in ("configuration", "records", "mini-batches", "batches.parquet"):
        assert f"\n{group} " in output

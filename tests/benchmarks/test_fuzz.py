"""Changed configurations and records: refused in one line, or accepted, and nothing else."""

import sys

import pytest

from benchmarks.fuzz.__main__ import Fuzz, main
from benchmarks.fuzz.study import Case
from workflows.planning.configfiles import ConfigurationError
from workflows.records.storage import RecordError


@pytest.mark.parametrize(
    "cases", [pytest.param(100, marks=pytest.mark.brief), pytest.param(3000, marks=pytest.mark.all)]
)
def test_nothing_escapes(cases, monkeypatch, capsys):
    """What escaped is printed with its seed and number, by which it is repeated."""
    words = ["--cases", str(cases), "--seed", "20", "--reported", "0.003"]
    monkeypatch.setattr(sys, "argv", ["fuzz", *words])
    status = main()
    output = capsys.readouterr().out
    assert status == 0 and "escaped: nothing" in output, output
    for group in (
        "configuration",
        "records",
        "rows of batches.parquet",
        "rows of turns.parquet",
        "batches.parquet",
    ):
        assert f"\n{group} " in output


def test_a_refusal_without_the_name_of_the_file_or_the_key_escapes(tmp_path, monkeypatch):
    fuzz = Fuzz(tmp_path, seed=1, reported=0)

    def refused(error):
        raise error

    for where, outcome in (("", "a strange refusal: x"), (f"{tmp_path}/changed.yaml: ", "refused")):
        error = ConfigurationError(f"{where}x")
        assert fuzz.configurations.outcome(lambda error=error: refused(error)) == outcome
    assert fuzz.configurations.names_key("changed.yaml: contest.turn: x")
    assert not fuzz.configurations.names_key("changed.yaml: x")
    for where, outcome in (
        ("", "names no file"),
        ("/turns.parquet", "names no key"),
        ("/turns.parquet: round", "refused"),
    ):
        error = RecordError(f"{fuzz.studies[0].folder}{where}: x")
        monkeypatch.setattr("benchmarks.fuzz.study.load", lambda _, error=error: refused(error))
        assert fuzz.studies[0].read(Case("x"), None).startswith(outcome)

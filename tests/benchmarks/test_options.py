"""Numbers with which a benchmark would never end, or do nothing, are refused at once."""

import pytest

from benchmarks import harness
from benchmarks.alarms import __main__ as alarms
from benchmarks.fuzz import __main__ as fuzz
from benchmarks.kills import __main__ as kills

WRONG = [
    (alarms, "--networks -1"), (alarms, "--jobs 0"), (alarms, "--networks 2 --only 2"),
    (fuzz, "--cases 0"), (fuzz, "--jobs -3"), (kills, "--times -1"), (harness, "--processes 1"),
    (harness, "--seconds nan"), (harness, "--seconds -1"), (harness, "--seconds inf"),
]  # fmt: skip


@pytest.mark.parametrize(("benchmark", "words"), WRONG)
def test_absurd_numbers(benchmark, words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmark", *words.split()])
    with pytest.raises(SystemExit) as ended:
        benchmark.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and words.split()[-2] in said

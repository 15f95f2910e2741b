"""Random right networks are certified, and a wrong one is an alarm."""

import re
import sys

import pytest

from benchmarks.alarms import __main__ as alarms
from benchmarks.alarms.study import Outcome

pytest.importorskip("torch")


@pytest.mark.all
@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("--networks 7 --seed 3 --first 1", "6 networks in "),
        ("--networks 23 --seed 9 --only 22", "tensorflow/default +1 +0 +1 "),
    ],
)
def test_right_networks_raise_no_alarm(words, row, monkeypatch, capsys):
    """Also if a contender declares that its state differs."""
    monkeypatch.setattr(sys, "argv", ["alarms", *words.split()])
    status = alarms.main()
    output = capsys.readouterr().out
    assert status == 0 and "alarms: 0" in output, output
    assert f"seed {words.split()[3]}\n" in output
    assert re.search(row, output), output


def test_networks_are_drawn_again_by_their_seed():
    first, again = (alarms.drawn(12, 7) for _ in range(2))
    assert first == again and len({*first}) == 12
    assert alarms.drawn(12, 8) != first


def test_a_refusal_is_an_alarm_with_its_network(monkeypatch, capsys):
    refused = [Outcome("pytorch/tuned", "refused", "loss differs"), Outcome("x/y", "missing")]
    monkeypatch.setattr(alarms.Certifier, "certify", lambda self, workload, name: iter(refused))
    monkeypatch.setattr(sys, "argv", ["alarms", "--networks", "2", "--seed", "3", "--jobs", "1"])
    assert alarms.main() == 1
    output = capsys.readouterr().out
    assert "alarms: 2" in output and "network 1, pytorch/tuned refused: loss differs" in output
    assert "random-1:" in output

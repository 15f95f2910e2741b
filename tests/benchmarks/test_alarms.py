"""Random right networks are certified, and a wrong one is an alarm."""

import re
import sys

import pytest

from benchmarks.alarms import __main__ as alarms
from benchmarks.alarms.study import Certifier, Outcome
from frameworks.workloads import from_dict

pytest.importorskip("torch")


@pytest.mark.all
@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("--networks 4 --seed 3 --first 1", "3 networks in "),
        ("--networks 24 --seed 7 --only 16", "tensorflow/default +1 +0 +1 "),
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


@pytest.mark.all
def test_a_declared_deviation_need_not_show(tmp_path):
    """The last ReLU lets nothing through, so no weight moves: Keras' epsilon shows in the miniature
    alone."""
    pytest.importorskip("tensorflow")
    workload = from_dict(
        {
            "name": "still",
            "dataset": {"kind": "normal", "samples": 10000, "shape": [1, 2]},
            "batch": 1,
            "layers": [{"dense": 5}, {"lstm": 4}, "relu", "tanh", {"dense": 5}, "relu"],
            "loss": "mean_squared_error",
            "optimiser": {"rmsprop": {"learning_rate": 0.002, "decay": 0.5, "epsilon": 1e-7}},
        }
    )
    certifier = Certifier(tmp_path)
    try:
        found = {one.contender: (one.status, one.why) for one in
                 certifier.certify(workload, "tensorflow")}  # fmt: skip
    finally:
        certifier.close()
    assert found["tensorflow/default"] == ("agrees", "")


def test_networks_are_drawn_again_by_their_seed():
    first, again = (alarms.drawn(5, 7) for _ in range(2))
    assert first == again and len({*first}) == 5
    assert alarms.drawn(5, 8) != first


def test_a_refusal_is_an_alarm_with_its_network(monkeypatch, capsys):
    refused = [Outcome("pytorch/tuned", "refused", "loss differs"), Outcome("x/y", "missing")]
    monkeypatch.setattr(alarms.Certifier, "certify", lambda self, workload, name: iter(refused))
    monkeypatch.setattr(sys, "argv", ["alarms", "--networks", "2", "--seed", "3", "--jobs", "1"])
    assert alarms.main() == 1
    output = capsys.readouterr().out
    assert "alarms: 2" in output and "network 1, pytorch/tuned refused: loss differs" in output
    assert "random-1:" in output


def test_a_network_that_nobody_can_certify_is_counted_apart(monkeypatch, capsys):
    """Its certificate blames no contender, so it is no alarm, and no success either."""
    unsure = [Outcome("pytorch/tuned", "uncertain", "this workload cannot be certified")]
    monkeypatch.setattr(alarms.Certifier, "certify", lambda self, workload, name: iter(unsure))
    monkeypatch.setattr(sys, "argv", ["alarms", "--networks", "2", "--seed", "3", "--jobs", "1"])
    assert alarms.main() == 0
    output = capsys.readouterr().out
    assert "network 1, pytorch/tuned: this workload cannot be certified" in output
    assert re.search("uncertain +refused", output)
    assert re.search(r"pytorch/tuned +2 +0 +0 +0 +0 +2 +0 +0\n", output)

"""A rule that is asked for alone, while another that must hold before is broken."""

import json

import pytest

from samestep.__main__ import main
from workflows.conformance.networks import Basis
from workflows.conformance.rules import RULES


def test_a_rule_that_could_not_be_tried_is_no_success(flawed, capsys):
    """It builds no network, so that no fence can be tried."""
    assert main(["check", "flawed-build", "--quick", "--rule", "fence"]) == 1
    said = capsys.readouterr().out
    assert "1 broken, 1 does not apply" in said and "mend 'build' first" in said


def test_a_rule_that_no_study_asks_for_is_advice(flawed, capsys):
    assert main(["check", "flawed-memory", "--quick", "--rule", "memory", "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["status"] == "advice" and "keep no reference" in outcome["mend"]
    assert main(["check", "flawed-weights", "--quick", "--rule", "weights"]) == 1


def test_a_setting_that_is_written_down_is_advice_as_in_a_study(flawed, capsys):
    """A study certifies its adapter and marks the setting."""
    assert main(["check", "flawed-read-back", "--quick", "--rule", "read back", "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["status"] == "advice" and "compilation is 'eager'" in outcome["seen"]


def test_no_rule_waits_for_advice():
    assert not [name for rule in RULES.values() for name in rule.after if RULES[name].advice]


def test_an_adapter_without_dense_layers_is_certified_on_what_is_asked_for(examine, monkeypatch):
    """As in a study. Here: without dense layers under a loss that the rules try."""
    pytest.importorskip("torch")
    lacking = Basis("sparse_cross_entropy", "sgd")
    monkeypatch.setattr("workflows.conformance.subject.BASES", [lacking])
    asked = {"mlp": {"features": 20, "hidden": [8], "batch": 4}}
    examined = examine("abacus", workloads=asked, quick=True)
    found = {name: examined.finding(name) for name in ("build", "vocabulary", "certificate")}
    assert "only certificates of what was asked for are tried" in found["build"].seen
    assert {name: one.status for name, one in found.items()} == {
        "build": "does not apply", "vocabulary": "does not apply", "certificate": "holds"
    }  # fmt: skip


def test_what_no_study_asks_for_is_advice_in_a_rule_that_is_none(examine):
    """A GPU that is not there, and a precision that is not timed."""
    for name, rule in (("flawed-device", "device"), ("flawed-settings-literal", "settings")):
        outcome = examine(name, workloads={}).outcome(rule)
        assert (outcome.status, outcome.finding.status) == ("advice", "broken"), outcome
        assert RULES[rule].advice is False

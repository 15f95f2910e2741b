"""A rule that is asked for alone, while another that must hold before is broken."""

import json

from samestep.__main__ import main
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

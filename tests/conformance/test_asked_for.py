"""A rule that is asked for alone, while another that must hold before is broken."""

import json

from samestep.__main__ import main


def test_a_rule_that_could_not_be_tried_is_no_success(abacus, capsys):
    """`/bin/true` is no Python, so that nothing can be tried."""
    words = ["check", "abacus", "--quick", "--interpreter", "/bin/true", "--rule", "fence"]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "1 broken, 1 does not apply" in said and "mend 'description' first" in said


def test_a_rule_that_no_study_asks_for_is_advice(flawed, capsys):
    assert main(["check", "flawed-memory", "--quick", "--rule", "memory", "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["status"] == "advice" and "keep no reference" in outcome["mend"]
    assert main(["check", "flawed-weights", "--quick", "--rule", "weights"]) == 1

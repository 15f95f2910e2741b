"""A rule that is asked for alone, while another that must hold before is broken."""

from samestep.__main__ import main


def test_a_rule_that_could_not_be_tried_is_no_success(abacus, capsys):
    """`/bin/true` is no Python, so that nothing can be tried."""
    words = ["check", "abacus", "--quick", "--interpreter", "/bin/true", "--rule", "fence"]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "1 broken, 1 does not apply" in said and "mend 'description' first" in said

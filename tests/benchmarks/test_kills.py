"""Studies killed at random moments; docs/troubleshooting.md says what is done again."""

import sys

import pytest

from benchmarks.kills.__main__ import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guardians need Linux")


@pytest.mark.all
def test_a_killed_study_loses_and_leaves_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kills", "--times", "4", "--seed", "7"])
    status = main()
    output = capsys.readouterr().out
    assert status == 0, output
    assert "lost: nothing" in output and "left: nothing" in output

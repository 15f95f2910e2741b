"""Studies killed at random moments; docs/troubleshooting.md says what is done again."""

import sys

import psutil
import pytest

from benchmarks.kills.__main__ import EVERYTHING, Kills, main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guardians need Linux")


def test_everything_at_once_is_everything_whatever_its_group():
    alone = [psutil.Popen(["sleep", "90"], start_new_session=True) for _ in range(2)]
    assert Kills(None, 1).kill(EVERYTHING, 0, alone) == alone
    assert [one.wait() for one in alone] == [-9, -9]


@pytest.mark.all
def test_a_killed_study_loses_and_leaves_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kills", "--times", "4", "--seed", "7"])
    status = main()
    output = capsys.readouterr().out
    assert status == 0, output
    assert "lost: nothing" in output and "left: nothing" in output

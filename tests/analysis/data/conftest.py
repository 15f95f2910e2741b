from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.__main__ import main

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """`refused(folder ...)`: the one line that is said instead of a report. Nothing is written."""

    def say(*folders: Path) -> str:
        beside = folders[0].parent
        before = sorted(beside.rglob("*"))
        assert main([*map(str, folders), "--out", str(beside / "out")]) == 1
        assert sorted(beside.rglob("*")) == before
        said = capsys.readouterr()
        assert said.out == "" and said.err.startswith("analysis: ")
        assert said.err.count("\n") == 1 and len(said.err) < 1000
        return said.err

    return say

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.analysis.turns import stored as as_table
from tests.analysis.turns import with_turns
from workflows.records.machine_folder import read_machine, write_machine
from workflows.records.machine_records import MachineRecords

Refused = Callable[..., str]
SMALL = Recipe(
    workloads=("mnist-cnn",), threads=(1,), replicates=2, rounds=3,
    controls=((0.0, 1.0), (0.1, 1.1)),
)  # fmt: skip
WHO = "pytorch/default/cpu/1"


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


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[MachineRecords, pd.DataFrame]:
    """A study with a record of each turn, as today's have."""
    folder = write(tmp_path_factory.mktemp("whole") / "one", SMALL)
    records, table = read_machine(folder)
    return records, with_turns(records, table)


def stored(folder: Path, records: MachineRecords, rows: pd.DataFrame) -> Path:
    write_machine(folder, records, as_table(rows))
    return folder

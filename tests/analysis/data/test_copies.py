"""A contest that was copied is no further replicate."""

from pathlib import Path

import pandas as pd
import pytest

from analysis.data.reading import load
from tests.analysis.data.test_rows import SMALL, stored
from tests.analysis.synthetic import write
from tests.analysis.turns import with_turns
from workflows.records.machine_folder import read_machine
from workflows.records.storage import RecordError


def test_a_copied_contest_is_refused(tmp_path: Path) -> None:
    records, table = read_machine(write(tmp_path / "one", SMALL))
    rows = with_turns(records, table)
    load([stored(tmp_path / "whole", records, rows)])
    copy = records.contests[0].model_copy(deep=True, update={"replicate": 3})
    records.contests.append(copy)
    records.study.replicates = records.study.configuration["replicates"] = 3
    more = rows[rows["replicate"] == 1].assign(replicate=3)
    both = pd.concat([rows, more]).astype(dict(rows.dtypes))
    said = "contests: mnist-cnn, replicate 3: its turns are those of mnist-cnn, replicate 1"
    with pytest.raises(RecordError, match=said):
        load([stored(tmp_path / "copied", records, both)])

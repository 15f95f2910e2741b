"""A contest that was copied is no further replicate."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.reading import load
from tests.analysis.data.test_rows import SMALL, stored
from tests.analysis.synthetic import write
from tests.analysis.turns import with_turns
from workflows.records.machine_folder import read_machine, write_machine
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


@pytest.mark.parametrize("boot", [False, True])
def test_a_study_under_another_name_is_no_further_machine(tmp_path: Path, boot: bool) -> None:
    records, table = read_machine(write(tmp_path / "one", SMALL))
    rows = with_turns(records, table)
    own = stored(tmp_path / "own", records, rows)
    copy = records.model_copy(deep=True)
    for contest in copy.contests:
        if boot:
            contest.system_info = {**contest.system_info, "system": {"boot": "another"}}
        else:
            contest.machine = "another"
    if not boot:
        copy.machine, rows = "another", rows.assign(machine="another")
        for certificate in copy.certificates:
            certificate.machine = "another"
    with pytest.raises(RecordError, match=r"turns of .* are those of .*: one study, two names"):
        load([own, stored(tmp_path / "copy", copy, rows)])


def test_no_machine_has_a_title_of_its_own(tmp_path: Path) -> None:
    folders = [write(tmp_path / "one", SMALL), write(tmp_path / "two", replace(SMALL, machine="b"))]
    load(folders)
    records, table = read_machine(folders[1])
    records.study.titles = {**records.study.titles, "pytorch": "Torch 3"}
    write_machine(tmp_path / "other", records, table)
    said = r"framework pytorch is 'PyTorch' on .* and 'Torch 3' on b"
    with pytest.raises(RecordError, match=said):
        load([folders[0], tmp_path / "other"])

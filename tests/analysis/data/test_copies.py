"""A contest that was copied is no further replicate."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.reading import load, require_measured_once
from tests.analysis.data.conftest import SMALL, stored
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


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_contest_with_the_times_of_another_is_a_copy(tmp_path: Path, share: float) -> None:
    """Even if it has orders, turns and losses of its own, and if some contenders are new."""
    (machine,) = load([write(tmp_path / "one", replace(SMALL, replicates=3))])
    rows = machine.batches.copy()
    names = sorted(rows["contender"].unique())
    for name in names[: int(share * len(names)) + 1]:
        own = rows["contender"] == name
        first = rows.loc[own & (rows["replicate"] == 1), ["step_ns", "transfer_ns"]].to_numpy()
        rows.loc[own & (rows["replicate"] == 3), ["step_ns", "transfer_ns"]] = first[::-1]
    if not share:
        require_measured_once([replace(machine, batches=rows)])
        return
    said = "mnist-cnn, replicate 1 of .*: its times are those of another contest, to the nano"
    with pytest.raises(RecordError, match=said):
        require_measured_once([replace(machine, batches=rows)])


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
    folders = [
        write(tmp_path / "one", SMALL),
        write(tmp_path / "two", replace(SMALL, machine="b", seed=2)),
    ]
    load(folders)
    records, table = read_machine(folders[1])
    records.study.titles = {**records.study.titles, "pytorch": "Torch 3"}
    write_machine(tmp_path / "other", records, table)
    said = r"framework pytorch is 'PyTorch' on .* and 'Torch 3' on b"
    with pytest.raises(RecordError, match=said):
        load([folders[0], tmp_path / "other"])

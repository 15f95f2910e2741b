"""A study is read part by part: however its rows are cut, it says the same."""

import tracemalloc
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.data import reading
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.analysis.turns import stored, with_turns
from workflows.records import storage
from workflows.records.machine_folder import read_machine, write_machine

LONG = Recipe(
    workloads=("mlp",), threads=(1,), variants=("default",), replicates=2, rounds=4, turn=4000
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 64,000 mini-batches in few turns, as `collect` writes it."""
    earlier = write(tmp_path_factory.mktemp("long") / "earlier", LONG)
    records, table = read_machine(earlier)
    rows = with_turns(records, table)
    write_machine(earlier.with_name("machine"), records, stored(rows))
    return earlier.with_name("machine")


@pytest.mark.parametrize("large", [1000, 10**6])
@pytest.mark.parametrize(("group", "read"), [(1000, 2**17), (10**6, 777), (3000, 4000)])
def test_a_study_says_the_same_however_its_rows_are_cut(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int, read: int, large: int
) -> None:
    monkeypatch.setattr(reading, "LARGE", large)
    whole = reading.read(folder)
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "batches.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=group)
    monkeypatch.setattr(storage, "READ", read)
    pd.testing.assert_frame_equal(reading.read(tmp_path).batches, whole.batches)


def test_reading_takes_the_memory_of_some_turns(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the table, nor of the file."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "batches.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=1000, compression="none")
    monkeypatch.setattr(reading, "LARGE", 1000)
    monkeypatch.setattr(storage, "READ", 1000)
    before, held = pa.total_allocated_bytes(), [0]
    check = reading.Checks.check

    def watched(checks: reading.Checks, part: pa.Table) -> None:
        held.append(pa.total_allocated_bytes() - before)
        check(checks, part)

    monkeypatch.setattr(reading.Checks, "check", watched)
    tracemalloc.start()
    try:
        reading.read(tmp_path)
        of_numpy = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(held) + of_numpy < path.stat().st_size

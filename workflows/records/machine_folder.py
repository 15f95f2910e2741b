"""One machine's records of one study, as the folder that analysis reads.

Mini-batches are stored without columns that follow from others. Older folders have all records,
including the turns, in an uncompressed `records.json`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from workflows.records import limits
from workflows.records.columns import BATCHES, STORED, TURNS
from workflows.records.earlier import contender, upgraded_batches
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import ContestRecord, TurnRecord
from workflows.records.storage import (
    Chunks,
    RecordError,
    read_chunks,
    read_json,
    what,
    write_chunks,
    write_json,
    write_table,
)

RECORDS = "records.json.zst"
EARLIER = "records.json"
FILES = (RECORDS, "batches.parquet", "turns.parquet")
MICROSECONDS = 1_000_000
NAMED = ("framework", "variant", "device", "threads")  # the parts of a contender's name


def records_file(folder: Path) -> Path:
    """The compressed file, or an older folder's, if it is the only one."""
    compressed, plain = folder / RECORDS, folder / EARLIER
    return plain if plain.exists() and not compressed.exists() else compressed


def machine_files(folder: Path) -> list[Path]:
    """The files of a folder, if it holds a machine's records."""
    records = records_file(folder)
    if not records.exists():
        return []
    return [records, *(folder / name for name in FILES[1:] if (folder / name).exists())]


def write_machine(
    folder: Path, records: MachineRecords, batches: pa.Table | Iterable[pa.Table]
) -> None:
    """Write the three files, and remove the records of an older form. Mini-batches may come in
    chunks, and are written first."""
    chunks = [batches] if isinstance(batches, pa.Table) else batches
    write_chunks(folder / "batches.parquet", packed(chunks), STORED)
    write_table(folder / "turns.parquet", turn_columns(records.contests), TURNS)
    without_turns = {"contests": {"__all__": {"turns"}}}
    write_json(folder / RECORDS, records, exclude=without_turns)
    (folder / EARLIER).unlink(missing_ok=True)


def read_machine(folder: Path) -> tuple[MachineRecords, pa.Table]:
    """Records and all mini-batches of either form. Raises RecordError, as `open_machine`."""
    records, chunks = open_machine(folder)
    return records, chunks.whole()


def open_machine(folder: Path) -> tuple[MachineRecords, Chunks]:
    """Records of either form, and the mini-batches to be read chunk by chunk.

    Raises:
        RecordError: a file is missing or damaged, turns belong to no contest, or there are more
            than the contests can have.
    """
    path = records_file(folder)
    records = read_json(path, MachineRecords)
    if path.name == EARLIER:
        chunks = read_chunks(folder / "batches.parquet", BATCHES)
        tables = chunks.tables
    else:
        give_turns(records.contests, folder / "turns.parquet")
        chunks = read_chunks(folder / "batches.parquet", STORED)
        tables = unpacked(chunks.tables, records.study.name, records.machine)
    return records, replace(chunks, schema=BATCHES, tables=map(upgraded_batches, tables))


def turn_columns(contests: list[ContestRecord]) -> dict[str, list[Any]]:
    """The turns of all contests as columns of `TURNS`."""
    turns = [(contest, turn) for contest in contests for turn in contest.turns]
    columns: dict[str, list[Any]] = {
        "workload": [contest.workload for contest, _ in turns],
        "replicate": [contest.replicate for contest, _ in turns],
    }
    for column, field in fields():
        values = [getattr(turn, field) for _, turn in turns]
        columns[column] = [in_microseconds(v) for v in values] if column != field else values
    return columns


def fields() -> Iterator[tuple[str, str]]:
    """Columns of `TURNS` and the fields of `TurnRecord` that they hold."""
    for column in TURNS.names[2:]:
        yield column, f"{column[:-3]}_s" if column.endswith("_us") else column


def in_microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * MICROSECONDS)


def give_turns(contests: list[ContestRecord], path: Path) -> None:
    """Add the turns of a table to their contests. Each contender has one in the warm-up, and one
    wherever the order of a round names it."""
    chunks = read_chunks(path, TURNS)
    possible = sum(len(one.contenders) + sum(map(len, one.order)) for one in contests)
    if chunks.rows > (most := min(possible, limits.TURNS)):
        raise RecordError(f"{path}: {chunks.rows:,} turns, the contests can have {most:,}")
    table = chunks.whole()
    known = {(contest.workload, contest.replicate): contest for contest in contests}
    values: dict[str, list[Any]] = {}
    for column, field in fields():
        own = table[column].to_pylist()
        if column != field:
            own = [None if value is None else value / MICROSECONDS for value in own]
        values[field] = own
    today = {name: contender(name) for name in set(values["contender"])}
    values["contender"] = [today[name] for name in values["contender"]]
    keys = zip(table["workload"].to_pylist(), table["replicate"].to_pylist(), strict=True)
    for key, row in zip(keys, zip(*values.values(), strict=True), strict=True):
        if key not in known:
            raise RecordError(f"{path}: turns of contest {key}, which has no record")
        try:
            known[key].turns.append(TurnRecord(**dict(zip(values, row, strict=True))))
        except ValidationError as error:
            raise RecordError(f"{path}: a turn of contest {key}: {what(error)}") from None


def packed(chunks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Convert the chunks of a table from the columns of `BATCHES` to the columns of `STORED`."""
    end = 0
    for chunk in chunks:
        starts = chunk["start_ns"].to_numpy()
        ends = np.append(end, starts + durations(chunk))
        end = ends[-1]
        yield chunk.append_column("gap_ns", pa.array(starts - ends[:-1])).select(STORED.names)


def unpacked(chunks: Iterable[pa.Table], study: str, machine: str) -> Iterator[pa.Table]:
    """Convert the chunks of a table, each with its texts in one dictionary, from the columns of
    `STORED` to the columns of `BATCHES`."""
    end = 0
    for chunk in chunks:
        took = durations(chunk)
        ends = end + np.cumsum(chunk["gap_ns"].to_numpy() + took)
        (contenders,) = chunk["contender"].chunks
        names = contenders.dictionary.to_pylist()
        found = {name: chunk[name] for name in STORED.names[1:]}
        found["start_ns"] = pa.array(ends - took)
        for name, value in (("study", study), ("machine", machine)):
            which = pa.array(np.zeros(len(took), np.int32))
            found[name] = pa.DictionaryArray.from_arrays(which, [value])
        for place, name in enumerate(NAMED):
            values = pa.array([own.split("/")[place] for own in names], pa.string())
            column = pa.DictionaryArray.from_arrays(contenders.indices, values)
            number = name == "threads"
            found[name] = values.cast(pa.int16()).take(contenders.indices) if number else column
        yield pa.table({name: found[name] for name in BATCHES.names})
        end = ends[-1]


def durations(table: pa.Table) -> NDArray[np.int64]:
    """Nanoseconds of all three parts of each mini-batch."""
    parts = (table[name].to_numpy() for name in ("data_ns", "transfer_ns", "step_ns"))
    return sum(parts, start=np.zeros(table.num_rows, np.int64))

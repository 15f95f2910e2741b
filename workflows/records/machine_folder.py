"""One machine's records of one study, as the folder that analysis reads.

Older folders have all records, including the turns, in an uncompressed `records.json`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from workflows.records.columns import BATCHES, STORED, TURNS
from workflows.records.earlier import contender, upgraded_batches
from workflows.records.machine_records import MachineRecords
from workflows.records.packing import packed, unpacked
from workflows.records.schema import ContestRecord, TurnRecord
from workflows.records.storage import (
    Parts,
    RecordError,
    read_json,
    read_parts,
    what,
    write_json,
    write_parts,
    write_table,
)

RECORDS = "records.json.zst"
EARLIER = "records.json"
FILES = (RECORDS, "batches.parquet", "turns.parquet")
MICROSECONDS = 1_000_000
MOST_TURNS = 2**19  # of a machine; the largest committed study has 5,700


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
    parts, and are written first."""
    parts = [batches] if isinstance(batches, pa.Table) else batches
    write_parts(folder / "batches.parquet", packed(parts), STORED)
    write_table(folder / "turns.parquet", turn_columns(records.contests), TURNS)
    without_turns = {"contests": {"__all__": {"turns"}}}
    write_json(folder / RECORDS, records, exclude=without_turns)
    (folder / EARLIER).unlink(missing_ok=True)


def read_machine(folder: Path) -> tuple[MachineRecords, pa.Table]:
    """Records and all mini-batches of either form. Raises RecordError, as `open_machine`."""
    records, parts = open_machine(folder)
    return records, parts.whole()


def open_machine(folder: Path) -> tuple[MachineRecords, Parts]:
    """Records of either form, and the mini-batches to be read part by part.

    Raises:
        RecordError: a file is missing or damaged, turns belong to no contest, or there are more
            than the contests can have.
    """
    path = records_file(folder)
    records = read_json(path, MachineRecords)
    if path.name == EARLIER:
        parts = read_parts(folder / "batches.parquet", BATCHES)
        tables = parts.tables
    else:
        give_turns(records.contests, folder / "turns.parquet")
        parts = read_parts(folder / "batches.parquet", STORED)
        tables = unpacked(parts.tables, records.study.name, records.machine)
    return records, replace(parts, schema=BATCHES, tables=map(upgraded_batches, tables))


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
    parts = read_parts(path, TURNS)
    possible = sum(len(one.contenders) + sum(map(len, one.order)) for one in contests)
    if parts.rows > (most := min(possible, MOST_TURNS)):
        raise RecordError(f"{path}: {parts.rows:,} turns, the contests can have {most:,}")
    table = parts.whole()
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

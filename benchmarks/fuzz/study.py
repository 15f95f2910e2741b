"""A small study's records, taken from a committed study, changed and read again."""

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.data.reading import load
from analysis.literature.section import SECTION
from analysis.report.page import write as write_report
from benchmarks.fuzz import changes, tables
from frameworks.workloads import WorkloadError
from workflows.records import machine_folder
from workflows.records.columns import STORED, TURNS
from workflows.records.machine_folder import FILES, RECORDS, read_machine, write_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import RecordError, read_json, read_table

WORKLOAD, REPLICATES = "mnist-cnn", 2
ADDED = "Extra inputs are not permitted"  # about a key that nobody knows, and that may be empty


class Case(NamedTuple):
    """What was changed, whether it must be refused, whether it is in no fixed form, so that only a
    report shows what comes of it, and whether bytes were changed, so that no key need be named."""

    what: str
    refused: bool = False
    free: bool = False
    bytes: bool = False


class SmallStudy:
    """A machine's folder of one workload in two replicates, changed and restored case by case."""

    def __init__(self, committed: Path, folder: Path) -> None:
        self.folder = folder / "machine"
        records, batches = read_machine(committed)
        few = pc.and_(
            pc.equal(batches["workload"], WORKLOAD), pc.less_equal(batches["replicate"], REPLICATES)
        )
        records.contests = [
            one
            for one in records.contests
            if one.workload == WORKLOAD and one.replicate <= REPLICATES
        ]
        asked = records.study.configuration
        records.study.replicates = asked["replicates"] = REPLICATES
        asked["workloads"] = {WORKLOAD: asked["workloads"][WORKLOAD]}
        for contest in records.contests:
            contest.group, contest.place = WORKLOAD, 0
        for name in ("workloads", "datasets", "certificates"):
            own = [one for one in getattr(records, name) if workload_of(one) == WORKLOAD]
            setattr(records, name, own)
        write_machine(self.folder, records, batches.filter(few))
        load([self.folder])  # unless it can be read, all changes of it are refused
        self.whole = {name: (self.folder / name).read_bytes() for name in FILES}
        text = pa.input_stream(pa.BufferReader(self.whole[RECORDS]), compression="zstd").read()
        self.values: dict[str, Any] = json.loads(text)
        self.changed, self.known = RECORDS, dict[str, Any]()
        self.places = changes.Places(self.values)
        self.tables = {
            f"{name}.parquet": read_table(self.folder / f"{name}.parquet", columns)
            for name, columns in (("batches", STORED), ("turns", TURNS))
        }
        columns = (name for table in self.tables.values() for name in table.column_names)
        self.keys = {*self.places.by_key, *columns}

    def change(self, draw: random.Random) -> Case:
        """Change one of the files; `restore` undoes it."""
        kind = draw.choice((self.records, self.records, self.table, self.damage))
        return kind(draw)

    def restore(self) -> None:
        self.put(self.changed, self.whole[self.changed])

    def records(self, draw: random.Random) -> Case:
        path = self.places.drawn(draw)
        values, what = changes.changed(self.values, path, draw)
        content = json.dumps(values).encode(errors="surrogatepass")
        self.put(RECORDS, pa.Codec("zstd").compress(content, asbytes=True))
        return Case(f"records: {what}", free=bool({"configuration", "system_info"} & {*path}))

    def table(self, draw: random.Random) -> Case:
        """Values of a table, written as our own are."""
        self.changed = draw.choice([*self.tables])
        change = tables.changed(self.tables[self.changed], draw)
        pq.write_table(change.table, self.folder / self.changed)
        return Case(f"rows of {self.changed}: {change.what}", change.refused)

    def damage(self, draw: random.Random) -> Case:
        name = draw.choice(FILES)
        content, what = changes.changed_bytes(self.whole[name], draw)
        self.put(name, content)
        return Case(f"{name}: bytes {what}", bytes=True)

    def put(self, name: str, content: bytes) -> None:
        self.changed = name
        (self.folder / name).write_bytes(content)

    def read(self, case: Case, report: Path | None) -> str:
        """Return "refused" or "accepted", or else what is wrong with either."""
        try:
            with self.remembering():
                machines = load([self.folder])
            if report:
                write_report(machines, report, further=[SECTION])
        except (RecordError, WorkloadError) as error:
            text = str(error)
            if "\n" in text or len(text) > 1000:
                return f"not one line: {text[:200]!r}"
            named = any(str(self.folder / name) in text for name in FILES)
            if not named and not text.startswith("nothing measured"):
                return f"names no file: {text[:200]!r}"
            said = re.sub(re.escape(str(self.folder)) + r"[\w./]*", "", text)
            if not case.bytes and not (self.keys & {*re.findall(r"\w+", said)} or ADDED in said):
                return f"names no key: {text[:200]!r}"
            return "refused"
        return "accepted, and should not be" if case.refused else "accepted"

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Records that are not changed are not read again."""
        with patch.object(machine_folder, "read_json", partial(self.once, read_json)):
            yield

    def once(self, read: Callable[..., Any], path: Path, *how: Any) -> Any:
        if path.read_bytes() != self.whole[path.name]:
            return read(path, *how)
        if path.name not in self.known:
            self.known[path.name] = read(path, *how)
        found = self.known[path.name]
        if isinstance(found, MachineRecords):  # reading gives each contest its turns
            contests = [one.model_copy(update={"turns": []}) for one in found.contests]
            return found.model_copy(update={"contests": contests})
        return found


def workload_of(record: Any) -> str:
    return str(getattr(record, "workload", None) or record.name)

"""What is read: one folder per machine, each whole, all of one study."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from workflows.records import (
    SCHEMA,
    Contender,
    ContestRecord,
    MachineRecords,
    RecordError,
    StudyRecord,
    read_batches,
    read_json,
)

PARTS = ["data", "transfer", "step"]  # of a mini-batch, in order
COMMON = ("name", "title", "smoke", "reference", "margin", "confidence")


class Seat(NamedTuple):
    """A contender's place in a workload; what rows of all tables are about."""

    workload: str
    framework: str
    variant: str
    device: str
    threads: int

    @property
    def contender(self) -> str:
        return "/".join(str(part) for part in self[1:])

    @classmethod
    def of(cls, workload: str, one: Contender) -> "Seat":
        return cls(workload, one.framework, one.variant, one.device, one.threads)


@dataclass(frozen=True)
class Machine:
    """One machine's records. `batches` holds the columns of `BATCHES`, the parts of each
    mini-batch in milliseconds (`data_ms`, `transfer_ms`, `step_ms`), and `ms`, the time
    compared: transfer and step. Reading the memory map (`data`) is the harness's work."""

    records: MachineRecords
    batches: pd.DataFrame

    @property
    def name(self) -> str:
        return self.records.machine

    @property
    def study(self) -> StudyRecord:
        return self.records.study

    @property
    def workloads(self) -> list[str]:
        return [workload.name for workload in self.records.workloads]

    def contests(self, workload: str) -> dict[int, ContestRecord]:
        """By replicate."""
        found = [c for c in self.records.contests if c.workload == workload]
        return {c.replicate: c for c in sorted(found, key=lambda c: c.replicate)}

    def dataset(self, workload: str) -> str:
        """What stands in the `dataset` column of every table."""
        for record in self.records.datasets:
            if record.workload == workload:
                return record.kind
        return "not recorded"

    def order(self, seat: Seat) -> tuple[object, ...]:
        """Sort key: workloads as configured, cpu first, threads, default first, reference
        first."""
        return (
            self.workloads.index(seat.workload) if seat.workload in self.workloads else 99,
            *variant_order(seat.device, "cpu"),
            seat.threads,
            *variant_order(seat.variant, "default"),
            *variant_order(seat.framework, self.study.reference),
        )


def variant_order(value: str, first: str) -> tuple[bool, str]:
    return (value != first, value)


def load(folders: Sequence[Path]) -> tuple[Machine, ...]:
    """Read machine folders, sorted by machine.

    Raises:
        RecordError: a folder that is not there or not whole, one machine twice, folders of
            different studies, or nothing measured in any of them.
    """
    machines = sorted((read(folder) for folder in folders), key=lambda machine: machine.name)
    for one, other in pairwise(machines):
        if one.name == other.name:
            raise RecordError(f"machine {one.name} is given twice")
        for field in COMMON:
            values = [getattr(m.study, field) for m in (one, other)]
            if values[0] != values[1]:
                raise RecordError(
                    f"folders of different studies: {field} is {values[0]!r} on {one.name} "
                    f"and {values[1]!r} on {other.name}"
                )
    if not any(len(machine.batches) for machine in machines):
        raise RecordError(f"nothing measured: {first_reason(machines)}")
    return tuple(machines)


def read(folder: Path) -> Machine:
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such folder")
    records = read_json(folder / "records.json", MachineRecords)
    if records.schema_version != SCHEMA:
        raise RecordError(
            f"{folder / 'records.json'}: schema version {records.schema_version}, "
            f"this samestep reads {SCHEMA}"
        )
    pairs = [(contest.workload, contest.replicate) for contest in records.contests]
    if twice := sorted({pair for pair in pairs if pairs.count(pair) > 1}):
        raise RecordError(f"{folder / 'records.json'}: contest {twice[0]} is there twice")
    path = folder / "batches.parquet"
    batches: pd.DataFrame = read_batches(path).to_pandas()
    check(path, batches, records)
    for part in PARTS:
        batches[f"{part}_ms"] = batches[f"{part}_ns"] / 1e6
    batches["ms"] = batches["transfer_ms"] + batches["step_ms"]
    return Machine(records, batches)


def check(path: Path, batches: pd.DataFrame, records: MachineRecords) -> None:
    """Refuse mini-batches that do not belong to the records beside them."""
    if batches.drop(columns="loss").isna().any(axis=None):
        raise RecordError(f"{path}: mini-batches with empty columns")
    if len(batches) and (batches["transfer_ns"] + batches["step_ns"]).min() <= 0:
        raise RecordError(f"{path}: a mini-batch that took no time")
    for column, wanted in (("machine", records.machine), ("study", records.study.name)):
        if strangers := sorted(set(batches[column]) - {wanted}):
            raise RecordError(f"{path}: {column} {strangers[0]}, but the records are of {wanted}")
    known = {
        (contest.workload, contest.replicate, contender.name)
        for contest in records.contests
        for contender in contest.contenders
    }
    found = batches[["workload", "replicate", "contender"]].drop_duplicates()
    if strangers := sorted(set(found.itertuples(index=False, name=None)) - known):
        raise RecordError(f"{path}: mini-batches of {strangers[0]}, which no contest record names")


def first_reason(machines: Sequence[Machine]) -> str:
    reasons = [
        contender.reason
        for machine in machines
        for contest in machine.records.contests
        for contender in contest.contenders
        if contender.reason
    ] + [row.reason for machine in machines for row in machine.records.missing]
    return reasons[0] if reasons else "there is no contest in these folders"

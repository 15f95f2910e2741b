"""Reads and checks the folders of a report: one per machine, all of one study."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from analysis.data.results import PARTS, Machine, Uncompared
from analysis.format import line
from workflows.records.machine_folder import read_machine, records_file
from workflows.records.schema import UNCOMPARED, ContestRecord, MachineRecords
from workflows.records.storage import RecordError

COMMON = ("name", "smoke", "reference", "fastest", "margin", "confidence")


def load(folders: Sequence[Path]) -> tuple[Machine, ...]:
    """Read machine folders, sorted by machine.

    Raises:
        RecordError: a folder is missing or incomplete, a machine is given twice, folders are of
            different studies, or no folder has a measurement.
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
    records, table = read_machine(folder)
    file = records_file(folder)
    pairs = [(contest.workload, contest.replicate) for contest in records.contests]
    if twice := sorted({pair for pair in pairs if pairs.count(pair) > 1}):
        raise RecordError(f"{file}: contest {twice[0]} is there twice")
    known = {workload.name for workload in records.workloads}
    named = {contest.workload for contest in records.contests}
    named |= {certificate.workload for certificate in records.certificates}
    if strangers := sorted(named - known):
        raise RecordError(f"{file}: workload {strangers[0]} is not described")
    batches: pd.DataFrame = table.to_pandas()
    check(folder / "batches.parquet", batches, records)
    for part in PARTS:
        batches[f"{part}_ms"] = batches[f"{part}_ns"] / 1e6
    batches["ms"] = batches["transfer_ms"] + batches["step_ms"]
    apart = batches["framework"].isin(list(UNCOMPARED))
    compared = [part_of(contest, uncompared=False) for contest in records.contests]
    others = [part_of(contest, uncompared=True) for contest in records.contests]
    return Machine(
        records.model_copy(update={"contests": compared}),
        batches[~apart].reset_index(drop=True),
        Uncompared(batches[apart].reset_index(drop=True), others),
    )


def part_of(contest: ContestRecord, uncompared: bool) -> ContestRecord:
    """The contest with only the contenders that are compared, or only the others."""
    own = [one for one in contest.contenders if (one.framework in UNCOMPARED) is uncompared]
    names = {one.name for one in own}
    kept = {
        "contenders": own,
        "turns": [turn for turn in contest.turns if turn.contender in names],
        "order": [[name for name in order if name in names] for order in contest.order],
    }
    return contest.model_copy(update=kept)


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
    return line(reasons[0]) if reasons else "there is no contest in these folders"

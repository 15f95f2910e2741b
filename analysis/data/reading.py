"""Reads and checks the folders of a report: one per machine, all of one study."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from analysis.data.condensing import LARGE, condensed, in_float64, rows_of_a_turn
from analysis.data.contradictions import contradictions
from analysis.data.occasions import occasion
from analysis.data.results import PHASES, Machine, Uncompared
from analysis.data.rows import Checks
from analysis.data.turns import ahead, whole_turns
from analysis.format import line, listing
from frameworks.workloads import from_dict, to_dict
from workflows.records.columns import BATCHES
from workflows.records.limits import ROWS
from workflows.records.machine_folder import open_machine, records_file
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import UNCOMPARED, ContestRecord
from workflows.records.storage import Chunks, RecordError, shown, unforeseen

# Decide what is compared. Replicates, rounds and turns only decide how precisely.
COMMON = ("smoke", "reference", "fastest", "confidence")
COPIED = 0.5  # of a contest's contenders, by their times
WEIGHTED = BATCHES.append(pa.field("weight", pa.int64()))


def load(folders: Sequence[Path]) -> tuple[Machine, ...]:
    """Read machine folders, sorted by machine and time. Each start of a machine counts as a machine
    of its own, because a virtual machine may change its host between two starts.

    Raises:
        RecordError: a folder is missing or incomplete, a start of a machine is given twice, folders
            do not measure the same, or no folder has a measurement.
    """
    machines = named_by_start([*map(read_alone, folders)])
    for name, times in Counter(machine.name for machine in machines).items():
        if times > 1:
            raise RecordError(f"machine {name} is given twice: two studies of one start of it")
    for one, other in pairwise(machines):
        for field in COMMON:
            values = [getattr(m.study, field) for m in (one, other)]
            if values[0] != values[1]:
                raise RecordError(
                    f"folders of different studies: {field} is {values[0]!r} on {one.name} "
                    f"and {values[1]!r} on {other.name}"
                )
    require_different(machines)
    works: dict[str, tuple[Machine, dict[str, Any]]] = {}
    for machine in machines:
        for name, work in definitions(machine).items():
            first, known = works.setdefault(name, (machine, work))
            if work != known:
                raise RecordError(
                    f"workload {name} is not the same on {first.name} and on {machine.name}"
                )
    if not any(len(machine.batches) for machine in machines):
        raise RecordError(f"nothing measured: {first_reason(machines)}")
    require_measured_once(machines)
    return tuple(machines)


def require_measured_once(machines: Sequence[Machine]) -> None:
    """Raise RecordError if most contenders took the same time in two contests, to the nanosecond.
    Turns in another order or at another time are still copies."""
    contest, one = ["workload", "replicate"], ["workload", "contender"]
    found = []
    for machine in machines:
        rows = machine.batches.groupby([*contest, "contender"], observed=True)
        took = rows["step_ns"].sum() + rows["transfer_ns"].sum()
        found.append(took.rename("took").reset_index().assign(machine=machine.name))
    sums = pd.concat(found, ignore_index=True)
    contenders = sums.groupby(["machine", *contest])["took"].transform("size")
    copied = sums.duplicated([*one, "took"], keep=False) & (sums["took"] > 0)
    share = copied.groupby([sums[name] for name in ("machine", *contest)]).transform("mean")
    row: Any
    for row in sums[(share > COPIED) & (contenders > 1)].itertuples():
        raise RecordError(
            f"{row.workload}, replicate {row.replicate} of {row.machine}: its times are those of "
            "another contest, to the nanosecond"
        )


def require_different(machines: Sequence[Machine]) -> None:
    """Raise RecordError if a study is there twice, or if a framework has two titles."""
    begun: dict[int, str] = {}
    titled: dict[str, tuple[str, str]] = {}
    for machine in machines:
        contests = machine.records.contests
        starts = {turn.start_ns for contest in contests for turn in contest.turns}
        if shared := sorted(starts & begun.keys()):
            other = begun[shared[0]]
            raise RecordError(f"turns of {machine.name} are those of {other}: one study, two names")
        begun |= dict.fromkeys(starts, machine.name)
        for framework, own in machine.titles.items():
            other, known = titled.setdefault(framework, (machine.name, own))
            if own != known:
                raise RecordError(
                    f"framework {framework} is {known!r} on {other} and {own!r} on {machine.name}"
                )


@contextmanager
def naming(folders: Sequence[Path]) -> Iterator[None]:
    """Errors of the block name the folder that is at fault, or all if it could be any of them."""
    try:
        with unforeseen(listing(folders, "or")):
            yield
    except RecordError as error:
        if any(str(folder) in str(error) for folder in folders):
            raise
        raise RecordError(f"{listing(folders)}: {error}") from None


def read_alone(folder: Path) -> Machine:
    """`read`, so that an unforeseen error names this folder alone."""
    with unforeseen(folder):
        return read(folder)


def named_by_start(machines: Sequence[Machine]) -> list[Machine]:
    several = Counter(machine.name for machine in machines)
    ordered = sorted(
        machines,
        key=lambda one: (one.name, min((c.started for c in one.records.contests), default="")),
    )
    return [
        replace(one, start=occasion(one).start)
        if several[one.name] > 1 and one.records.contests
        else one
        for one in ordered
    ]


def definitions(machine: Machine) -> dict[str, dict[str, Any]]:
    """Workloads without the number of samples, because the time of a step does not depend on it."""
    found = {one.name: to_dict(from_dict(one.description)) for one in machine.records.workloads}
    for work in found.values():
        work["dataset"] = {**work["dataset"], "samples": None}
    return found


def read(folder: Path) -> Machine:
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such folder")
    records, chunks = open_machine(folder)
    path = records_file(folder)
    for fault in contradictions(records):
        raise RecordError(f"{path}: {shown(fault)}")
    batches = possible(chunks, records)
    for part in PHASES:
        batches[f"{part}_ms"] = batches[f"{part}_ns"] / 1e6
    apart = batches["framework"].isin(list(UNCOMPARED))
    # A single operation is timed with its operands in place.
    trained = batches["workload"].isin(records.trained)
    batches["ms"] = batches["transfer_ms"] * (trained | apart) + batches["step_ms"]
    compared = [part_of(contest, uncompared=False) for contest in records.contests]
    others = [part_of(contest, uncompared=True) for contest in records.contests]
    return Machine(
        records.model_copy(update={"contests": compared}),
        batches[~apart].reset_index(drop=True),
        Uncompared(batches[apart].reset_index(drop=True), others),
    )


def possible(chunks: Chunks, records: MachineRecords) -> pd.DataFrame:
    """The mini-batches, checked, and condensed if the study is large."""
    most = rows_of_a_turn(records) if chunks.rows > LARGE else ROWS
    checks, found = Checks(chunks.path, records), [WEIGHTED.empty_table()]
    exact = in_float64(records)
    for chunk in whole_turns(chunks.path, ahead(chunks.tables)):
        checks.check(chunk)
        found.append(condensed(chunk, most, exact).cast(WEIGHTED))
    checks.end()
    table: pd.DataFrame = pa.concat_tables(found).to_pandas()
    return table


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


def first_reason(machines: Sequence[Machine]) -> str:
    reasons = [
        contender.reason
        for machine in machines
        for contest in machine.records.contests
        for contender in contest.contenders
        if contender.reason
    ] + [row.reason for machine in machines for row in machine.records.missing]
    return line(reasons[0]) if reasons else "there is no contest in these folders"

"""Records that contradict themselves or each other: refused by their key, never concluded from."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, pairwise
from typing import Any

from analysis.data.rows import CORES, SLACK_NS, TICK_NS
from analysis.format import line
from frameworks.workloads import Workload, WorkloadError, from_dict
from frameworks.workloads.workload import LOOSEST
from workflows.records.limits import DAY_S
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import (
    CertificateRecord,
    CertificateRow,
    ContestRecord,
    Measured,
    TurnRecord,
)

# The most that a certificate allows if rounding in float64 explains it.
ROUNDED = 1e-7


def contradictions(records: MachineRecords) -> Iterator[str]:
    """Each key, and what is wrong there."""
    yield from described(records)
    yield from belonging(records)
    parts = {(one.framework, one.variant) for one in records.parts}
    for certificate in records.certificates:
        where = f"certificates: {certificate.framework} on {certificate.workload}"
        for fault in proven(certificate):
            yield f"{where}: {fault}"
        for row in certificate.rows:
            alone = (row.framework, row.variant) in parts or row.ulp is not None
            for fault in compared(row, certificate, alone):
                yield f"certificates: {row.name} on {certificate.workload}: {fault}"
    for contest in records.contests:
        measured = {one.name for one in contest.contenders if one.status == "ok"}
        # In records of before there are neither turns nor what compilers' caches held.
        turnless = not contest.turns and not any(one.caches for one in contest.contenders)
        in_turn = () if turnless else in_rounds(contest, measured)
        for fault in chain(contested(contest, measured, records), in_turn):
            yield f"contests: {contest.workload}, replicate {contest.replicate}: {fault}"
    yield from in_turns(records.contests)


def described(records: MachineRecords) -> Iterator[str]:
    """Workloads and their data sets."""
    works: dict[str, Workload] = {}
    for number, workload in enumerate(records.workloads):
        try:
            works[workload.name] = from_dict(workload.description)
        except (WorkloadError, TypeError, ValueError, OverflowError) as error:
            yield f"workloads.{number}.description: {line(str(error))}"
            continue
        true = works[workload.name].parameters
        if workload.parameters != true:
            yield f"workloads.{number}.parameters: {workload.parameters}, its layers have {true}"
    named: list[tuple[str, Iterable[Any]]] = [
        ("workloads", [one.name for one in records.workloads]),
        ("datasets", [one.workload for one in records.datasets]),
        ("contests", [(one.workload, one.replicate) for one in records.contests]),
        ("certificates", [(one.workload, one.framework) for one in records.certificates]),
        ("study.titles", records.study.titles.values()),
    ]
    for key, names in named:
        if twice := repeated(names):
            yield f"{key}: {twice[0]} is there twice"
    for dataset in records.datasets:
        work = works.get(dataset.workload)
        if dataset.workload not in {one.name for one in records.workloads}:
            yield f"datasets: workload {dataset.workload} is not described"
        elif work and dataset.batches != dataset.samples // work.batch:
            yield (
                f"datasets: {dataset.workload} has {dataset.batches} mini-batches of "
                f"{dataset.samples} samples, but its batch size is {work.batch}"
            )


def belonging(records: MachineRecords) -> Iterator[str]:
    """Contests and certificates are of this study, machine and workloads."""
    known = {workload.name for workload in records.workloads}
    parts: list[tuple[str, ContestRecord | CertificateRecord]]
    parts = [("contests", one) for one in records.contests]
    parts += [("certificates", one) for one in records.certificates]
    for key, part in parts:
        if part.workload not in known:
            yield f"{key}: workload {part.workload} is not described"
        for name, own, wanted in (
            ("study", part.study, records.study.name),
            ("machine", part.machine, records.machine),
        ):
            if own != wanted:
                yield f"{key}: {name} {own}, but the records are of {wanted}"
        rows = part.contenders if isinstance(part, ContestRecord) else part.rows
        if twice := repeated(row.name for row in rows):
            yield f"{key}: {twice[0]} is there twice, in {part.workload}"


def proven(certificate: CertificateRecord) -> Iterator[str]:
    if not certificate.tolerance <= LOOSEST:
        yield f"tolerance: {certificate.tolerance:.0e}; no certificate allows more than {LOOSEST}"
    if not certificate.rows:
        yield "rows: there is none"
    turns = [(certificate.reference, certificate.turns)]
    for name, found in turns + [(row.name, row.turns) for row in certificate.rows]:
        if found and lengths(found.start) != lengths(found.weights):
            yield f"turns.start and turns.weights of {name} are not of the same numbers"


def compared(row: CertificateRow, certificate: CertificateRecord, alone: bool) -> Iterator[str]:
    """A status follows from distances, which are there, finite and within the tolerance. Of an
    operation or a part of a step `alone`, a few steps are compared."""
    if row.framework != certificate.framework:
        yield f"framework: a row in the certificate of {certificate.framework}"
    others = [one.run for one in row.optimisers.values()]
    for run in (row.long, row.full, row.substituted, row.substituted_full, *others):
        if run and not all(0 <= step <= len(run.loss) for step in run.weights):
            yield f"weights after a step that is none of the {len(run.loss)} steps"
    if row.status not in ("agrees", "declared"):
        return
    if not row.long or not row.long.loss:
        yield f"long: its status is {row.status!r}, but no step was compared"
        return
    steps = len(row.losses) or len(row.long.loss)
    if steps != certificate.steps and not alone:
        yield f"long: {steps} steps, but steps is {certificate.steps}"
    if row.compared and not row.long.attainable:
        yield f"long: only {row.compared} steps were compared, and rounding explains none"
    for name, own in (("long", row.long), ("full", row.full)):
        if own and row.status == "agrees" and not within(own, certificate.tolerance):
            yield (
                f"{name}: its status is 'agrees', but it is {farthest(own):.1e} off (allowed "
                f"{certificate.tolerance:.0e})"
            )


def within(run: Measured, tolerance: float) -> bool:
    return farthest(run) <= (max(tolerance, ROUNDED) if run.attainable else tolerance)


def farthest(run: Measured) -> float:
    """NaN if any distance is."""
    every = [*run.loss, *(one for own in run.weights.values() for one in own.values())]
    return math.nan if any(map(math.isnan, every)) else max(every, default=0.0)


def contested(contest: ContestRecord, measured: set[str], records: MachineRecords) -> Iterator[str]:
    if twice := repeated((turn.round, turn.contender) for turn in contest.turns):
        yield f"two turns of {twice[0]}"
    everybody = {one.name for one in contest.contenders}
    if strangers := {name for order in contest.order for name in order} - everybody:
        yield f"its order has {min(strangers)}, no contender"
    if both := measured & {one.name for one in records.missing}:
        yield f"{min(both)} was measured, and is listed as missing"


def in_rounds(contest: ContestRecord, measured: set[str]) -> Iterator[str]:
    """Whoever was measured has a turn in every round, within the time of the contest."""
    turns = {(turn.round, turn.contender) for turn in contest.turns}
    for number, order in enumerate(contest.order, 1):
        if absent := [name for name in order if name in measured and (number, name) not in turns]:
            yield f"no turn of {absent[0]} in round {number}, which its order has"
    for turn in contest.turns:
        if (turn.cpu_s or 0) > CORES * turn.duration_s + TICK_NS / 1e9:
            yield f"cpu_us: {turn.cpu_s:.0f} s in a turn of {turn.duration_s:.3g} s"
    if contest.turns:
        yield from in_its_time(contest)


def in_its_time(contest: ContestRecord) -> Iterator[str]:
    """A contest is within a day of its turns."""
    begin = min(turn.start_ns for turn in contest.turns) / 1e9
    if abs(datetime.fromisoformat(contest.started).timestamp() - begin) > DAY_S:
        yield f"started: {contest.started}, but its turns were at another time"
    if contest.duration_s > sum(turn.duration_s for turn in contest.turns) + DAY_S:
        yield f"duration_s: {contest.duration_s:.0f}, a day more than its turns"


def in_turns(contests: Sequence[ContestRecord]) -> Iterator[str]:
    """Only one contender of a contest computes at a time, on all workloads of its group."""
    found: dict[tuple[str, int], list[TurnRecord]] = defaultdict(list)
    for contest in contests:
        found[contest.group or contest.workload, contest.replicate] += contest.turns
    for (group, replicate), turns in found.items():
        for one, after in pairwise(sorted(turns, key=lambda turn: turn.start_ns)):
            if one.start_ns / 1e9 + one.duration_s > (after.start_ns + SLACK_NS) / 1e9:
                yield (
                    f"contests: {group}, replicate {replicate}: the turn of {after.contender} in "
                    f"round {after.round} began before that of {one.contender} had ended"
                )
                break


def repeated(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if times > 1]


def lengths(tensors: Mapping[str, Sequence[float]]) -> dict[str, int]:
    return {name: len(values) for name, values in tensors.items()}

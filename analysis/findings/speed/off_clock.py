"""What a contender does while nothing is timed: a row for each.

Between two timed mini-batches the harness reads the loss and the counters. A contender that puts
work off until then, or does it in a thread or another process, would look faster than it is. After
some turns the harness also reads all weights.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from statistics import median

import pandas as pd

from analysis.data.processes import COLUMNS, identity
from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings, Table, added
from workflows.records.columns import PHASES

SHORTEST = 0.9  # the share of the times between mini-batches that counts


@dataclass(frozen=True)
class OffClockLine:
    """A row of off_clock.csv, per mini-batch of the rounds; None if the records lack a number.
    `processor_ms` is the processor time of the process while nothing was timed, also while others
    had their turns, and `share` is that over the processor time of timed mini-batches. `between_ms`
    is the time from the end of a mini-batch to the next one in its turn, the mean of the shortest
    nine tenths. `longer_ms` is by how much that exceeds the shortest of the workload; pitfalls do
    not count, because the losses of one of them are not read. `late_ms` is by how much reading all
    weights after a turn takes longer than reading them again. `step_ms` is the median time of
    transfer and step."""

    id: BenchmarkId
    processor_ms: float | None
    share: float | None
    between_ms: float | None
    longer_ms: float | None
    late_ms: float | None
    step_ms: float


def off_clock_lines(findings: Findings) -> list[OffClockLine]:
    """All contenders except controls, which wait on purpose, in studies that recorded it. Single
    operations are left out, because reading their checksum takes as much work as they do."""
    machine, batches = findings.machine, findings.batches
    trained = [one for one in findings.measured if one.workload in machine.records.trained]
    asked = {one for one in trained if not machine.control(one)}
    asked_rows = pd.MultiIndex.from_frame(batches[COLUMNS]).isin([*asked])
    rows = batches[(batches["round"] > 0) & asked_rows]
    outside, between, late = processor_s(findings, asked), between_ms(rows), late_ms(findings)
    least: dict[str, float] = {}
    for one, own in between.items():
        if not machine.pitfall(one):
            least[one.workload] = min(own, least.get(one.workload, own))
    lines = []
    for key, turns in rows.groupby(COLUMNS):
        one = identity(key)
        spent_s, ms = outside.get(one), between.get(one)
        inside_s = float((turns["cpu_ns"] * turns["weight"]).sum()) / 1e9
        lines.append(
            OffClockLine(
                one,
                None if spent_s is None else 1000 * spent_s / int(turns["weight"].sum()),
                None if spent_s is None or not inside_s else spent_s / inside_s,
                ms,
                None if ms is None else ms - least.get(one.workload, ms),
                late.get(one),
                float((turns["transfer_ns"] + turns["step_ns"]).median() / 1e6),
            )
        )
    known = any(line.processor_ms is not None for line in lines)
    return sorted(lines, key=lambda line: machine.order(line.id)) if known else []


def processor_s(findings: Findings, asked: Collection[BenchmarkId]) -> dict[BenchmarkId, float]:
    """Seconds of processor time off the clock, of contests that recorded them.

    A process has turns of all workloads of a contest, and may be releasing the memory of a large
    one when a small one's turn begins. So of several workloads the least counts of what was spent
    since the turn before each of one's turns, and until the turn after each.
    """
    since: dict[BenchmarkId, float] = {}
    until: dict[BenchmarkId, float] = {}
    shared: dict[object, list[tuple[int, BenchmarkId | None, float]]] = {}  # by process
    for contest in findings.machine.records.contests:
        whose = {c.name: BenchmarkId.of(contest.workload, c) for c in contest.contenders
                 if c.status == "ok"}  # fmt: skip
        for turn in contest.turns:
            one = whose.get(turn.contender)
            if turn.outside_s is None or not one:
                continue
            counted = one if turn.round and one in asked else None
            if counted:
                since[counted] = since.get(counted, 0.0) + turn.outside_s
            if contest.group not in ("", contest.workload):
                process = contest.group, contest.replicate, turn.contender
                shared.setdefault(process, []).append((turn.start_ns, counted, turn.outside_s))
    for turns in shared.values():
        turns.sort(key=itemgetter(0))
        for (_, one, _), (_, _, spent_s) in pairwise(turns):
            if one:
                until[one] = until.get(one, 0.0) + spent_s
    return {one: min(spent_s, until.get(one, spent_s)) for one, spent_s in since.items()}


def late_ms(findings: Findings) -> dict[BenchmarkId, float]:
    """`late_ms`: the median of the replicates in which weights were read."""
    found: dict[BenchmarkId, list[float]] = {}
    for contest in findings.machine.records.contests:
        for contender in contest.contenders:
            if contender.late_s is not None:
                one = BenchmarkId.of(contest.workload, contender)
                found.setdefault(one, []).append(1000 * contender.late_s)
    return {one: median(times) for one, times in found.items()}


def between_ms(rows: pd.DataFrame) -> dict[BenchmarkId, float]:
    """`between_ms`, from turns that were not condensed. A median would hide work that is put off in
    fewer than half of the steps; single long waits are the machine's."""
    own = rows[rows["weight"] == 1].sort_values(["replicate", "step"])
    ends = own["start_ns"] + own[[*PHASES]].sum(axis=1)
    turn = own.groupby([*COLUMNS, "replicate", "round"])
    waits = (turn["start_ns"].shift(-1) - ends)[turn["step"].shift(-1) == own["step"] + 1]
    each = waits.groupby([own.loc[waits.index, name] for name in COLUMNS])
    return {
        identity(key): float(times.nsmallest(math.ceil(SHORTEST * len(times))).mean()) / 1e6
        for key, times in each
    }


OFF_CLOCK = added("off_clock", Table(OffClockLine, off_clock_lines, optional=True))

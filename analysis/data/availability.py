"""The replicates in which each benchmark was measured, and why it is missing from others."""

from dataclasses import dataclass, field
from typing import Literal

from analysis.data.results import BenchmarkId, Machine
from analysis.format import line
from workflows.records.schema import Contender, ContestRecord

Presence = Literal["ok", "incomplete", "failed", "missing"]


@dataclass
class Availability:
    """One benchmark's replicates: the measured ones, and why each of the others is missing."""

    ok: list[int] = field(default_factory=list)
    absent: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def status(self) -> Presence:
        if not self.absent:
            return "ok"
        if self.ok:
            return "incomplete"
        return "failed" if any(s == "failed" for s, _ in self.absent.values()) else "missing"

    @property
    def reason(self) -> str:
        reasons = "; ".join(dict.fromkeys(reason for _, reason in self.absent.values()))
        if not self.ok or not self.absent:
            return reasons
        planned = len(self.ok) + len(self.absent)
        return f"not in {len(self.absent)} of {planned} replicates: {reasons}"


def availability(
    machine: Machine, measured: set[tuple[BenchmarkId, int]]
) -> dict[BenchmarkId, Availability]:
    """Every benchmark of the study on this machine, in the order of the tables.

    `measured`: benchmark and replicate of processes with steady-state mini-batches.
    """
    found: dict[BenchmarkId, Availability] = {}
    missing = {row.name: row.reason for row in machine.records.missing}
    known: dict[str, Contender] = {row.name: row for row in machine.records.missing}
    for record in machine.records.contests:
        known |= {contender.name: contender for contender in record.contenders}
    for workload in machine.workloads:
        contests = machine.contests(workload)
        planned = range(1, max([machine.study.replicates, *contests]) + 1)
        for name, contender in known.items():
            benchmark = BenchmarkId.of(workload, contender)
            own = found[benchmark] = Availability()
            for replicate in planned:
                if (benchmark, replicate) in measured:
                    own.ok.append(replicate)
                else:
                    contest = contests.get(replicate)
                    own.absent[replicate] = absence(contest, name, missing.get(name, ""))
    return dict(sorted(found.items(), key=lambda item: machine.order(item[0])))


def absence(contest: ContestRecord | None, name: str, reason: str) -> tuple[str, str]:
    """Status and reason of a contender that was not measured in a contest. `reason` says why the
    contender cannot run on this machine, "" if it can."""
    for contender in contest.contenders if contest else []:
        if contender.name == name:
            if contender.status == "ok":
                return "failed", "left no steady-state mini-batch"
            return contender.status, line(contender.reason or reason or "no reason was recorded")
    if reason:
        return "missing", line(reason)
    if contest is None:
        return "missing", "there is no record of the contest"
    return "missing", "took no part in the contest"

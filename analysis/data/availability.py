"""Who should have been measured, in which replicates they were, and why not in the others."""

from dataclasses import dataclass, field
from typing import Literal

from analysis.data.results import BenchmarkId, Machine
from analysis.format import line
from workflows.records.schema import Contender, ContestRecord

Presence = Literal["ok", "incomplete", "failed", "missing"]


@dataclass
class Availability:
    """One seat's replicates: those measured, and status and reason of each of the others."""

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


def roster(
    machine: Machine, measured: set[tuple[BenchmarkId, int]]
) -> dict[BenchmarkId, Availability]:
    """Every seat of the study on this machine, in the order of the tables.

    `measured`: the processes that left steady-state mini-batches.
    """
    seats: dict[BenchmarkId, Availability] = {}
    missing = {row.name: row.reason for row in machine.records.missing}
    known: dict[str, Contender] = {row.name: row for row in machine.records.missing}
    for record in machine.records.contests:
        known |= {contender.name: contender for contender in record.contenders}
    for workload in machine.workloads:
        contests = machine.contests(workload)
        planned = range(1, max([machine.study.replicates, *contests]) + 1)
        for name, contender in known.items():
            seat = BenchmarkId.of(workload, contender)
            attendance = seats[seat] = Availability()
            for replicate in planned:
                if (seat, replicate) in measured:
                    attendance.ok.append(replicate)
                else:
                    attendance.absent[replicate] = absence(
                        contests.get(replicate), name, missing.get(name, "")
                    )
    return dict(sorted(seats.items(), key=lambda item: machine.order(item[0])))


def absence(contest: ContestRecord | None, name: str, reason: str) -> tuple[str, str]:
    """Status and reason of a contender that was not measured in a contest; `reason` is why
    it could not run on this machine at all, if that is so."""
    held = contest.contenders if contest else []
    for contender in held:
        if contender.name == name:
            if contender.status == "ok":
                return "failed", "left no steady-state mini-batch"
            return contender.status, line(contender.reason or reason or "no reason was recorded")
    if reason:
        return "missing", line(reason)
    if contest is None:
        return "missing", "there is no record of the contest"
    return "missing", "took no part in the contest"

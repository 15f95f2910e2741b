"""Who should have been measured, in which replicates they were, and why not in the others."""

from dataclasses import dataclass, field
from typing import Literal

from analysis.study import Machine, Seat
from workflows.records import Contender

Presence = Literal["ok", "incomplete", "failed", "missing"]


@dataclass
class Attendance:
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
        if self.ok and self.absent:
            return f"not in {len(self.absent)} of {len(self.ok) + len(self.absent)} replicates: " + (
                reasons
            )
        return reasons


def roster(machine: Machine, measured: set[tuple[Seat, int]]) -> dict[Seat, Attendance]:
    """Every seat of the study on this machine, in the order of the tables.

    `measured`: the processes that left steady-state mini-batches.
    """
    seats: dict[Seat, Attendance] = {}
    missing = {row.name: row.reason for row in machine.records.missing}
    for workload in machine.workloads:
        contests = machine.contests(workload)
        planned = range(1, max([machine.study.replicates, *contests]) + 1)
        names: dict[str, Contender] = {row.name: row for row in machine.records.missing}
        for record in machine.records.contests:
            names |= {contender.name: contender for contender in record.contenders}
        for name, contender in names.items():
            seat = Seat(workload, *name.split("/")[:3], contender.threads)
            attendance = seats[seat] = Attendance()
            for replicate in planned:
                contest = contests.get(replicate)
                found = [c for c in contest.contenders if c.name == name] if contest else []
                if (seat, replicate) in measured:
                    attendance.ok.append(replicate)
                elif found and found[0].status != "ok":
                    reason = found[0].reason or missing.get(name) or "no reason was recorded"
                    attendance.absent[replicate] = (found[0].status, reason)
                elif found:
                    attendance.absent[replicate] = ("failed", "left no steady-state mini-batch")
                elif name in missing:
                    attendance.absent[replicate] = ("missing", missing[name])
                elif contest is None:
                    attendance.absent[replicate] = ("missing", "there is no record of the contest")
                else:
                    attendance.absent[replicate] = ("missing", "took no part in the contest")
    return dict(sorted(seats.items(), key=lambda item: machine.order(item[0])))

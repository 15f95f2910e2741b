"""Whether the timed runs, in the precision that was timed, set out as the certified ones did.

Certificates are of float64. What is timed is float32, and every turn of it starts from the
initial weights on the mini-batches of its round, the same for all: so the first loss of a
turn must be the reference's. Later ones need not be, as rounding grows with every step.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, Machine
from analysis.format import count, scientific

TOLERANCE, TF32 = 1e-3, 1e-2  # relative, without and with TF32; float32 makes up some 1e-6
TINY = 1e-30  # instead of a loss of zero, which nothing is relative to


@dataclass
class Trajectories:
    """`worst`: the largest relative difference among `compared` first losses that agree;
    `faults`: who may not be compared with anybody, and why."""

    tolerance: float
    compared: int = 0
    worst: float = 0.0
    faults: dict[BenchmarkId, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.compared:
            return ""
        text = (
            "In the timed float32 runs the first losses of all turns agreed to "
            f"{scientific(self.worst)} (tolerance {self.tolerance:g})"
        )
        if self.faults:
            text += f", but for {count(len(self.faults), 'contender')} refused"
        return f"{text}. That is about weights, data and forward pass; updates are certified."


def follow(machine: Machine, batches: pd.DataFrame) -> Trajectories:
    """`batches` are those of processes that lived to the end of their contest."""
    tf32 = machine.study.configuration.get("tf32") is True
    found = Trajectories(TF32 if tf32 else TOLERANCE)
    batches = batches.sort_values(["replicate", "step"])
    finite = batches["loss"].map(math.isfinite).astype(bool)
    for seat, row in by_seat(batches[~finite]).items():
        found.faults[seat] = f"{seat.contender}: a loss in {turn(row)} is not finite ({row.loss})"
    firsts = batches.groupby([*COLUMNS, "replicate", "round"]).head(1)
    firsts = firsts[finite[firsts.index]]
    for _, turns in firsts.groupby(["workload", "replicate", "round"]):
        rows = by_seat(turns)
        seats = sorted(rows, key=machine.order)
        base = reference(machine, seats)
        for seat in seats:
            if seat != base:
                compare(found, seat, rows[seat], base, rows[base])
    return found


def by_seat(rows: pd.DataFrame) -> dict[BenchmarkId, Any]:
    """The first row of each."""
    found: dict[BenchmarkId, Any] = {}
    row: Any
    for row in rows.drop_duplicates(COLUMNS).itertuples():
        found[
            BenchmarkId(row.workload, row.framework, row.variant, row.device, int(row.threads))
        ] = row
    return found


def reference(machine: Machine, seats: list[BenchmarkId]) -> BenchmarkId:
    """The contender that certificates refer to; where it is not there, the first that is."""
    names = {record.reference for record in machine.records.certificates}
    return next((seat for seat in seats if seat.contender in names), seats[0])


def compare(
    found: Trajectories, seat: BenchmarkId, row: Any, base: BenchmarkId, wanted: Any
) -> None:
    """One turn of one contender with the reference's turn of the same round."""
    difference = abs(row.loss - wanted.loss) / max(abs(wanted.loss), TINY)
    found.compared += 1
    if row.batch != wanted.batch:
        fault = f"{turn(row)} started with another mini-batch than {base.contender}'s"
    elif difference > found.tolerance:
        fault = (
            f"the first float32 loss of {turn(row)} differs by {scientific(difference)} from that "
            f"of {base.contender} (tolerance {found.tolerance:g})"
        )
    else:
        found.worst = max(found.worst, difference)
        return
    found.faults.setdefault(seat, f"{seat.contender}: {fault}")


def turn(row: Any) -> str:
    return f"round {row.round} of replicate {row.replicate}"

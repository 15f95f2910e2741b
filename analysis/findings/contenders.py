"""What each contender took, whoever else there was."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.processes import logs
from analysis.data.results import BenchmarkId, Machine
from analysis.stats.inference import student


@dataclass(frozen=True)
class ContenderLine:
    """A row of contenders.csv. Times are transfer and step of one mini-batch.

    `median_ms` is the geometric mean of the replicates' medians over steady state, with
    Student's interval; without a steady state it is empty, and the reason says from where to
    where the replicates' medians go. The quartiles are geometric means of the replicates'
    quartiles, and `first_batch_ms` of each process's very first mini-batch. `batches` (steady
    state) and `warmup_batches` count over all replicates.
    """

    machine: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    replicates: int
    batches: int
    median_ms: float | None
    low_ms: float | None
    high_ms: float | None
    q25_ms: float | None
    q75_ms: float | None
    first_batch_ms: float | None
    warmup_batches: int
    samples_per_s: float | None
    data_ms: float | None
    transfer_ms: float | None
    step_ms: float | None
    status: str
    dataset: str
    reason: str


def contender_lines(
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    unsteady: dict[BenchmarkId, str],
) -> list[ContenderLine]:
    return [
        without_median(found, unsteady[seat]) if seat in unsteady else found
        for seat, attendance in roster.items()
        for found in [line(machine, seat, attendance, measured.get(seat))]
    ]


def without_median(line: ContenderLine, reason: str) -> ContenderLine:
    """There is no one time to be told."""
    told = f"{reason}; {line.reason}" if line.reason else reason
    return replace(
        line,
        median_ms=None,
        low_ms=None,
        high_ms=None,
        q25_ms=None,
        q75_ms=None,
        samples_per_s=None,
        status="no steady state",
        reason=told,
    )


def line(
    machine: Machine, seat: BenchmarkId, attendance: Availability, rows: pd.DataFrame | None
) -> ContenderLine:
    fixed: dict[str, Any] = {
        "machine": machine.name,
        **seat._asdict(),
        "status": attendance.status,
        "dataset": machine.dataset(seat.workload),
        "reason": attendance.reason,
    }
    if rows is None:
        empty: dict[str, Any] = dict.fromkeys(ContenderLine.__dataclass_fields__)
        counts = {"replicates": 0, "batches": 0, "warmup_batches": 0}
        return ContenderLine(**{**empty, **counts, **fixed})
    told = steady(rows, machine.study.confidence)
    return ContenderLine(
        **fixed,
        **told,
        # several controls share a process, and one of them alone meets it cold
        first_batch_ms=None if machine.control(seat) else geometric(rows, "first"),
        warmup_batches=int(rows["warmup"].sum()),
        samples_per_s=1000 * batch_size(machine, seat.workload) / told["median_ms"],
        data_ms=float(rows["data_ms"].mean()),
        transfer_ms=float(rows["transfer_ms"].mean()),
        step_ms=float(rows["step_ms"].mean()),
    )


def steady(rows: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """The columns about steady state, of one seat's processes."""
    estimate = student(logs(rows).tolist(), confidence)
    return {
        "replicates": len(rows),
        "batches": int(rows["batches"].sum()),
        "median_ms": math.exp(estimate.mean),
        "low_ms": None if estimate.low is None else math.exp(estimate.low),
        "high_ms": None if estimate.high is None else math.exp(estimate.high),
        "q25_ms": geometric(rows, "q25"),
        "q75_ms": geometric(rows, "q75"),
    }


def geometric(rows: pd.DataFrame, column: str) -> float:
    return math.exp(float(logs(rows, column).mean()))


def batch_size(machine: Machine, workload: str) -> int:
    found = next(record for record in machine.records.workloads if record.name == workload)
    return int(found.description["batch"])

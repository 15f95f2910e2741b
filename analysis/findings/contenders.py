"""How long each contender took, independent of any comparison."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

from analysis.data.processes import Measurements, logs
from analysis.data.results import BenchmarkId, Machine
from analysis.stats.inference import student
from analysis.stats.intervals import UNKNOWN, Interval


@dataclass(frozen=True)
class ContenderLine:
    """A row of contenders.csv. Times are transfer and step of one mini-batch.

    `time` is the geometric mean of the replicates' medians over steady state, with Student's
    interval. The quartiles are geometric means of the replicates' quartiles, and
    `first_batch_ms` that of each process's very first mini-batch. `data_ms`, `transfer_ms` and
    `step_ms` are means of the replicates' medians. `batches` (steady state) and `warmup_batches`
    count over all replicates. `samples_per_s` is the throughput: all samples of steady state over
    the time they took, so slow mini-batches lower it.
    """

    id: BenchmarkId
    replicates: int = 0
    batches: int = 0
    time: Annotated[Interval, "median_ms low_ms high_ms"] = UNKNOWN
    q25_ms: float | None = None
    q75_ms: float | None = None
    first_batch_ms: float | None = None
    warmup_batches: int = 0
    samples_per_s: float | None = None
    data_ms: float | None = None
    transfer_ms: float | None = None
    step_ms: float | None = None
    status: str = ""
    reason: str = ""


def contender_lines(found: Measurements) -> list[ContenderLine]:
    return [contender_line(benchmark, found) for benchmark in found.availability]


def contender_line(benchmark: BenchmarkId, found: Measurements) -> ContenderLine:
    machine, own = found.machine, found.availability[benchmark]
    unsteady = found.unsteady.get(benchmark, "")
    status = "no steady state" if unsteady else own.status
    reason = "; ".join(text for text in (unsteady, own.reason) if text)
    rows = found.processes.get(benchmark)
    if rows is None:
        return ContenderLine(benchmark, status=status, reason=reason)
    return ContenderLine(
        benchmark,
        replicates=len(rows),
        batches=int(rows["batches"].sum()),
        # several controls share a process, and only one of them runs its first mini-batch
        first_batch_ms=None if machine.control(benchmark) else geometric(rows, "first"),
        warmup_batches=int(rows["warmup"].sum()),
        samples_per_s=batch_size(machine, benchmark.workload) * throughput(rows),
        data_ms=float(rows["data_ms"].mean()),
        transfer_ms=float(rows["transfer_ms"].mean()),
        step_ms=float(rows["step_ms"].mean()),
        status=status,
        reason=reason,
        **steady(rows, machine.study.confidence),
    )


def throughput(rows: pd.DataFrame) -> float:
    """Steady-state mini-batches per second, over all processes."""
    return 1000 * float(rows["batches"].sum() / (rows["batches"] * rows["mean"]).sum())


def steady(rows: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """The columns about the time in steady state, from one benchmark's processes."""
    return {
        "time": student(logs(rows).tolist(), confidence).interval.through(math.exp),
        "q25_ms": geometric(rows, "q25"),
        "q75_ms": geometric(rows, "q75"),
    }


def geometric(rows: pd.DataFrame, column: str) -> float:
    return math.exp(float(logs(rows, column).mean()))


def batch_size(machine: Machine, workload: str) -> int:
    return int(machine.workload(workload).description["batch"])

"""What the harness itself costs: the time of a framework that computes nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.contenders import ContenderLine, geometric
from analysis.processes import by_seat, logs, processes
from analysis.statistics import student
from analysis.study import Machine
from analysis.words import alike, percent, title


@dataclass(frozen=True)
class HarnessLine:
    """A row of harness.csv: what a mini-batch takes of which nothing is computed, as in
    contenders.csv, and its share of the time of the fastest contender of the workload (None
    where none has a median)."""

    machine: str
    workload: str
    replicates: int
    batches: int
    median_ms: float
    low_ms: float | None
    high_ms: float | None
    q25_ms: float
    q75_ms: float
    fastest: str
    share: float | None


def harness_lines(machine: Machine, contenders: Sequence[ContenderLine]) -> list[HarnessLine]:
    if machine.idle.empty:
        return []
    found = {seat.workload: rows for seat, rows in by_seat(processes(machine.idle)).items()}
    lines = []
    for workload in machine.workloads:
        if workload not in found:
            continue
        rows = found[workload]
        estimate = student(logs(rows).tolist(), machine.study.confidence)
        median = math.exp(estimate.mean)
        own = [(c.median_ms, c) for c in contenders if c.workload == workload and c.median_ms]
        least, fastest = min(own, key=lambda pair: pair[0], default=(None, None))
        lines.append(
            HarnessLine(
                machine=machine.name,
                workload=workload,
                replicates=len(rows),
                batches=int(rows["batches"].sum()),
                median_ms=median,
                low_ms=None if estimate.low is None else math.exp(estimate.low),
                high_ms=None if estimate.high is None else math.exp(estimate.high),
                q25_ms=geometric(rows, "q25"),
                q75_ms=geometric(rows, "q75"),
                fastest=f"{title(fastest.framework)} {fastest.variant}" if fastest else "",
                share=median / least if least else None,
            )
        )
    return lines


def harness_cost(rows: Sequence[HarnessLine]) -> str:
    """`A framework that computes nothing takes 1.2 us a mini-batch (mlp, 0.002 % of ...)`."""
    told = [
        f"{alike(1000 * row.median_ms)[0]} µs in {row.workload}"
        + (f", {percent(row.share)} of the fastest ({row.fastest})" if row.share else "")
        for row in rows
    ]
    if not told:
        return ""
    return (
        "A framework that computes nothing takes turns with all others; its mini-batch is what "
        f"clock and calls cost: {'; '.join(told)}."
    )

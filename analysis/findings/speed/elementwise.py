"""Single operations: how long each takes with its vectors in place, how fast it moves them, and
whether the first of five in a fresh process is slower."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Annotated

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS, identity
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import permission
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.settings import effective
from analysis.findings.findings import Findings, Table, added
from analysis.findings.speed.machine_speed import SPEED
from analysis.stats.inference import estimate, student
from analysis.stats.intervals import Interval
from frameworks.workloads import from_dict

SUCCESSIVE = 5  # operations of a fresh process


@dataclass(frozen=True)
class ElementwiseLine:
    """A row of elementwise.csv, about one operation, which a step does `repeat` times. `us` is the
    time of the step without transfer, over `repeat`: the geometric mean of the replicates' medians
    over steady state, with Student's interval. `transfer_us` is the time to bring both vectors to
    the device.

    `gb_per_s` counts each vector once that is read or written. `share` is that over the speed of
    the machine's memory stream in the same rounds. `ulp` is the largest distance of a number from
    NumPy's, in units in the last place. `first` is the time of a process's first step over the
    median of the next four. It comes from the `first_replicates` in
    which the process had done nothing before, if `repeat` is 1. The columns `to_...` say whether
    writing to a vector that was moved there changed the original.
    """

    id: BenchmarkId
    operation: str
    elements: int
    repeat: int
    replicates: int
    us: Annotated[Interval, "us low_us high_us"]
    transfer_us: float
    gb_per_s: float
    share: float | None
    ulp: float | None
    first_replicates: int
    first: Annotated[Interval, "first_over_others first_low first_high"]
    to_same_device: str
    to_another_device: str
    certificate: str
    reason: str

    @property
    def typical_us(self) -> float:
        assert self.us.value is not None
        return self.us.value


def elementwise_lines(findings: Findings) -> list[ElementwiseLine]:
    return [*lines(findings)]


def lines(findings: Findings) -> Iterator[ElementwiseLine]:
    """Contenders that were measured on a workload that is a single operation."""
    machine, level = findings.machine, findings.machine.study.confidence
    untrained = [own for own in machine.records.workloads if not own.parameters]
    works = {own.name: from_dict(own.description) for own in untrained}
    streams = {
        (line.workload, line.threads): line.gb_per_s
        for line in SPEED.of(findings)
        if line.replicate is None and line.gb_per_s
    }
    certificates = Certificates(machine)
    batches = findings.batches[findings.batches["workload"].isin(list(works))]
    measured = {identity(key): rows for key, rows in batches.groupby(COLUMNS)}
    for one in findings.matched:
        if one not in measured:
            continue
        work, rows = works[one.workload], measured[one]
        operation = work.elementwise
        assert operation
        step, transfer = (student(logs(rows, f"{part}_ms"), level) for part in ("step", "transfer"))
        each = 1000 / operation.repeat
        us = step.interval.through(math.exp).through(partial(mul, each))
        speed = work.bytes_per_step() / operation.repeat / (each * math.exp(step.mean)) / 1000
        stream = streams.get((one.workload, one.threads)) if one.on_host else None
        alone = firsts(machine, one, rows) if operation.repeat == 1 else []
        first = estimate(alone, machine.study.margin, level)
        certificate, reason = permission(one, one, certificates, findings.loss_check)
        _, row = certificates.found.get(one, (None, None))
        said = effective(machine, one)
        yield ElementwiseLine(
            one, operation.kind, work.outputs, operation.repeat, step.n, us,
            1000 * math.exp(transfer.mean), speed, speed / stream if stream else None,
            row.ulp if row else None, first.replicates, first.ends,
            said.get("to_same_device", ""), said.get("to_another_device", ""),
            "" if reason else certificate, reason,
        )  # fmt: skip


def logs(rows: pd.DataFrame, column: str) -> list[float]:
    """The logarithm of each replicate's median over steady state."""
    steady = rows[~rows["warmup"]].groupby("replicate")[column].median()
    return np.log(steady.to_numpy(float)).tolist()  # type: ignore[no-any-return]


def firsts(machine: Machine, one: BenchmarkId, rows: pd.DataFrame) -> list[float]:
    """For each process that had done nothing before, the logarithm of the ratio of its first step
    to the median of the next four."""
    contests, found = machine.contests(one.workload), []
    for replicate, own in rows[rows["round"] == 0].groupby("replicate"):
        times = own.sort_values("step")["step_ms"].to_numpy(float)[:SUCCESSIVE]
        if len(times) == SUCCESSIVE and not contests[int(str(replicate))].place:
            found.append(math.log(times[0] / np.median(times[1:])))
    return found


ELEMENTWISE = added("elementwise", Table(ElementwiseLine, elementwise_lines, optional=True))

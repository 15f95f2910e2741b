"""What bringing numbers to a GPU changes: steps with and without it, and vectors that are made on
the GPU or brought there.

The time that all other tables compare includes it for a network, and not for a single operation.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings, Table, added
from analysis.findings.sweeps import Sweep, by_replicate, curves
from analysis.findings.variants.parts import together
from analysis.stats.crossing import crossing, zeros
from analysis.stats.inference import Estimate, estimate
from frameworks.device import GPU, HOST
from frameworks.workloads import from_dict

NAME = "transferred"  # of the table
OPERANDS = 2  # vectors that are brought before each operation
DEVICE = "device"  # an axis of pairs
# Axes. Of ratios of a GPU to a processor: the step alone, and transfer and step.
RESIDENT, MOVED = "resident", "moved"
VECTOR = "vector"
COPIED, BROUGHT = "copied", "brought"
FILLED, FILLED_AND_BROUGHT = "filled", "filled-and-brought"
CROSSOVER = "crossover"
WITH, WITHOUT = "with-transfer", "without"
NO_CROSSOVER = (
    "the GPU is not slower at small sizes and faster at large ones, both with transfer and without"
)

Pair = tuple[str, str, str]  # the axis, and what is compared with what
Times = Mapping[Pair, "pd.Series[float]"]  # ratios by replicate


@dataclass(frozen=True)
class TransferredLine:
    """A row of transferred.csv, about `id` on a GPU: the time of `one` over that of `against`.

    The axes `resident` and `moved` compare the GPU with the processor, by the step alone, and by
    transfer and step. `vector` compares making one vector on the GPU with bringing it there, after
    filling it on the processor if it is to be filled. Each replicate has the ratio of its
    processes' medians.

    `crossover` compares the sizes from which the GPU is faster. Its workload is the sweep.
    """

    COLUMNS: ClassVar = (
        "machine axis workload device threads variant framework one against replicates ratio "
        "ratio_low ratio_high p verdict certificate reason"
    )

    id: BenchmarkId
    axis: str
    one: str
    against: str
    estimate: Estimate
    certificate: str
    reason: str


def transferred_lines(findings: Findings) -> list[TransferredLine]:
    return [*of_pairs(findings), *of_crossovers(findings)]


def of_pairs(findings: Findings) -> Iterator[TransferredLine]:
    """For each pair of a GPU and the processor that differ in nothing else."""
    study = findings.machine.study
    for row in findings.pairs:
        if row.axis != DEVICE or row.id.device != GPU.name:
            continue
        for pair, values in times(findings, row).items():
            logs = [math.log(value) for value in values.dropna()] if row.estimate.ratio else []
            found = estimate(logs, study.margin, study.confidence)
            refused = Estimate(verdict=row.estimate.verdict)
            yield TransferredLine(
                row.id, *pair, found if logs else refused, row.certificate, row.reason
            )


def times(findings: Findings, row: PairLine) -> Times:
    gpu, host = (findings.measured[side] for side in (row.id, row.base))
    step, on_host = gpu["step_ms"], host["step_ms"]
    devices = (GPU.name, HOST.name)
    found: dict[Pair, pd.Series[float]] = {
        (RESIDENT, *devices): step / on_host,
        (MOVED, *devices): (gpu["transfer_ms"] + step) / (host["transfer_ms"] + on_host),
    }
    kind, repeat = operation(findings.machine, row.id.workload)
    brought = gpu["transfer_ms"] / OPERANDS
    if kind == "copy":
        found[VECTOR, COPIED, BROUGHT] = step / repeat / brought
    if kind == "fill":
        found[VECTOR, FILLED, FILLED_AND_BROUGHT] = step / repeat / (on_host / repeat + brought)
    return found


def operation(machine: Machine, workload: str) -> tuple[str, int]:
    """The kind of a single operation and how often a step does it; "" and 1 of a network."""
    own = from_dict(machine.workload(workload).description).elementwise
    return (own.kind, own.repeat) if own else ("", 1)


def of_crossovers(findings: Findings) -> Iterator[TransferredLine]:
    """For each sweep, the size from which the GPU is faster if transfer is counted, over the size
    if it is not."""
    for sweep, points in curves(findings):
        if points[0].axis == DEVICE and points[0].id.device == GPU.name and len(points) > 1:
            found = moved_by(findings, sweep, points)
            yield TransferredLine(
                points[0].id._replace(workload=sweep.name), CROSSOVER, WITH, WITHOUT,
                found or Estimate(), together([row.certificate for row in points]),
                "" if found else NO_CROSSOVER,
            )  # fmt: skip


def moved_by(findings: Findings, sweep: Sweep, points: list[PairLine]) -> Estimate | None:
    """None if one of the two curves does not cross 1 once, from slower to faster."""
    study, sizes = findings.machine.study, [sweep.size(row) for row in points]
    found = [times(findings, row) for row in points]
    ends = []
    for axis in (MOVED, RESIDENT):
        pair = (axis, GPU.name, HOST.name)
        logs = by_replicate([own[pair].dropna().map(math.log) for own in found])
        own = crossing(sizes, logs, study.confidence) if len(logs) > 1 else None
        if not own or not own.at or not own.below > 0 > own.above:
            return None
        ends.append(zeros(sizes, logs, own.at))
    return estimate((ends[0] - ends[1]).tolist(), study.margin, study.confidence)


TRANSFERRED = added(NAME, Table(TransferredLine, transferred_lines, optional=True))

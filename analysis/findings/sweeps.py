"""The size from which one contender is faster than another, in the sweeps of a study."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from analysis.data.processes import paired
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings, Table, added
from analysis.stats.crossing import Crossing, crossing
from frameworks.workloads.sweeps import members, parameter

AXES = ("threads", "device", "framework")  # in which the sides of a pair differ
WORDS = {-1: "faster", 0: "cannot tell", 1: "slower"}


@dataclass(frozen=True)
class Sweep:
    """`sizes` and `workloads` from small to large."""

    name: str
    parameter: str
    sizes: tuple[int, ...]
    workloads: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    def size(self, point: PairLine) -> int:
        return self.sizes[self.workloads.index(point.id.workload)]


@dataclass(frozen=True)
class CrossoverLine:
    """A row of crossovers.csv: how the time of `id` over that of `base` depends on the size. `id`
    is `below` (faster, slower) at the small sizes and `above` at the large ones. If that changes
    once, it does `at` a size between `low` and `high`, with `at_flops` operations a mini-batch.
    `points` are the pairs that have an interval; `missing` counts the sizes without one."""

    COLUMNS: ClassVar = (
        "machine sweep parameter axis device threads variant framework against smallest largest "
        "points_counted missing decided changes below above low at high at_flops"
    )

    sweep: Sweep
    id: BenchmarkId
    base: BenchmarkId
    axis: str
    points: tuple[PairLine, ...]
    crossing: Crossing
    at_flops: float | None

    @property
    def pays(self) -> bool:
        """Whether this side is slower at small sizes and faster at large ones."""
        return bool(self.crossing.at and self.crossing.below > 0 > self.crossing.above)

    @property
    def parameter(self) -> str:
        return self.sweep.parameter

    @property
    def against(self) -> str | int:
        return self.points[0].against

    @property
    def smallest(self) -> int:
        return self.sweep.sizes[0]

    @property
    def largest(self) -> int:
        return self.sweep.sizes[-1]

    @property
    def points_counted(self) -> int:
        return len(self.points)

    @property
    def missing(self) -> int:
        return len(self.sweep.sizes) - len(self.points)

    @property
    def below(self) -> str:
        return WORDS[self.crossing.below]

    @property
    def above(self) -> str:
        return WORDS[self.crossing.above]

    def size(self, point: PairLine) -> int:
        return self.sweep.size(point)


def sweeps(machine: Machine) -> list[Sweep]:
    found = []
    for name, entry in (machine.study.configuration.get("sweeps") or {}).items():
        own = {key: one for key, one in members(name, entry).items() if key in machine.workloads}
        sizes = tuple(member.size for member in own.values())
        if sizes:
            found.append(Sweep(name, parameter(entry), sizes, tuple(own)))
    return found


def crossover_lines(findings: Findings) -> list[CrossoverLine]:
    """By sweep, axis and pair, for pairs that have an interval at two sizes at least."""
    return [
        line
        for sweep, points in curves(findings)
        if (line := crossover_line(findings, sweep, points))
    ]


def curves(findings: Findings) -> Iterator[tuple[Sweep, list[PairLine]]]:
    """By sweep, axis and pair: the pairs that have an interval, from the smallest size to the
    largest. Sweeps over several contests are left out, because their replicates do not belong
    together."""
    contests = {contest.workload: contest.group for contest in findings.machine.records.contests}
    for sweep in sweeps(findings.machine):
        if len({contests.get(name) for name in sweep.workloads}) > 1:
            continue
        groups: dict[tuple[object, ...], list[PairLine]] = {}
        for row in findings.pairs:
            if row.axis in AXES and row.id.workload in sweep.workloads and row.estimate.ratio_low:
                sides = (row.id._replace(workload=""), row.base._replace(workload=""))
                groups.setdefault((AXES.index(row.axis), *sides), []).append(row)
        for key in sorted(groups, key=lambda key: key[0]):  # type: ignore[arg-type, return-value]
            yield sweep, sorted(groups[key], key=sweep.size)


def by_replicate(logs: Sequence["pd.Series[float]"]) -> list[list[float]]:
    """The logarithms of each replicate that all sizes have."""
    shared = sorted(set.intersection(*(set(own.index) for own in logs)))
    return [[float(own[replicate]) for own in logs] for replicate in shared]


def crossover_line(
    findings: Findings, sweep: Sweep, points: Sequence[PairLine]
) -> CrossoverLine | None:
    measured = findings.measured
    logs = by_replicate([paired(measured[row.id], measured[row.base]) for row in points])
    if len(points) < 2 or len(logs) < 2:
        return None
    sizes = [sweep.size(row) for row in points]
    found = crossing(sizes, logs, findings.machine.study.confidence)
    work = {own.name: own.flops_per_step for own in findings.machine.records.workloads}
    flops = [float(work[row.id.workload]) for row in points]
    return CrossoverLine(
        sweep, points[0].id, points[0].base, points[0].axis, tuple(points), found,
        found.at and between(found.at, sizes, flops),
    )  # fmt: skip


def between(size: float, sizes: Sequence[int], flops: Sequence[float]) -> float:
    """The operations at a size, interpolated in the logarithms of both."""
    return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(flops))))


CROSSOVERS = added("crossovers", Table(CrossoverLine, crossover_lines, optional=True))

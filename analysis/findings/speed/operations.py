"""Where a step's time goes, by each framework's own profiler, which ran once and untimed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from analysis.data.results import BenchmarkId, Machine, grouped
from analysis.findings.findings import Findings, Table, added
from frameworks.operations import CATEGORIES, UNACCOUNTED

CONVOLUTION = "convolution"


@dataclass(frozen=True)
class OperationLine:
    """A row of operations.csv: milliseconds of a step, under the profiler, in one category of
    frameworks/operations.py, and their share of that step."""

    COLUMNS: ClassVar = "machine workload device threads variant framework operation ms share"

    id: BenchmarkId
    operation: str
    ms: float
    share: float


def operation_lines(machine: Machine) -> list[OperationLine]:
    found: dict[BenchmarkId, list[OperationLine]] = {}
    for contest in machine.records.contests:
        for one in contest.contenders:
            seconds = known(one.operations)
            if total := sum(seconds.values()):
                benchmark = BenchmarkId.of(contest.workload, one)
                found[benchmark] = [
                    OperationLine(benchmark, name, 1000 * own, own / total)
                    for name, own in seconds.items()
                ]
    return [line for one in sorted(found, key=machine.order) for line in found[one]]


def known(seconds: Mapping[str, float]) -> dict[str, float]:
    """In the order of the categories. Categories of other versions count as unaccounted."""
    found = dict.fromkeys(CATEGORIES, 0.0)
    for name, own in seconds.items():
        found[name if name in found else UNACCOUNTED] += own
    return {name: own for name, own in found.items() if own}


OPERATIONS = added(
    "operations",
    Table(OperationLine, lambda findings: operation_lines(findings.machine), optional=True),
)


@dataclass(frozen=True)
class Profile:
    """A contender's step under its profiler, in shares."""

    id: BenchmarkId
    ms: float
    shares: Mapping[str, float]

    @property
    def largest(self) -> tuple[str, float]:
        """The category with the largest share. The parts of convolutions count as one, because
        not all profilers distinguish them."""
        merged: dict[str, float] = {}
        for name, share in self.shares.items():
            whole = CONVOLUTION if name.startswith(CONVOLUTION) else name
            merged[whole] = merged.get(whole, 0.0) + share
        return max(merged.items(), key=lambda pair: pair[1])


def profiles(findings: Findings) -> list[Profile]:
    """The profiles of contenders that are compared with other frameworks."""
    lines = findings.machine.matched_rows(OPERATIONS.of(findings))
    return [
        Profile(one, sum(line.ms for line in lines), {line.operation: line.share for line in lines})
        for one, lines in grouped((line.id, line) for line in lines).items()
    ]


def unprofiled(machine: Machine) -> dict[BenchmarkId, str]:
    """Why there is no profile of a contender, if one was asked for."""
    return {
        BenchmarkId.of(contest.workload, one): one.unprofiled
        for contest in machine.records.contests
        for one in contest.contenders
        if one.unprofiled
    }

"""What tuning is made of: each step from `default` to `tuned` compared with the step before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import geometric_mean
from typing import ClassVar

from analysis.data.processes import Measurements
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import comparisons
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import Estimate


@dataclass(frozen=True)
class StepLine:
    """A row of steps.csv: the estimate of this variant's time over that of the variant before,
    which differs from it in `change` only. `level_ms` is the time of `default` times all ratios up
    to this one; None from the first step on that has no ratio. `position` counts from 1.
    """

    COLUMNS: ClassVar = (
        "machine workload framework device threads position variant change beside level_ms "
        "replicates ratio ratio_low ratio_high p verdict certificate dataset reason"
    )

    id: BenchmarkId
    base: BenchmarkId
    position: int
    change: str
    start_ms: float | None
    level_ms: float | None
    estimate: Estimate
    certificate: str
    reason: str

    @property
    def beside(self) -> str:
        return self.base.variant


def step_lines(found: Measurements, check: LossCheck) -> list[StepLine]:
    """By workload, conditions and framework, in the order of the steps."""
    machine = found.machine
    changes = {(row.framework, row.variant): row for row in machine.records.changes}
    chain = {
        one: one._replace(variant=changes[one.framework, one.variant].beside)
        for one in found.availability
        if (one.framework, one.variant) in changes
    }
    # Without devices on which nothing was measured.
    chain = {o: base for o, base in chain.items() if {o, base} & found.processes.keys()}
    rows = {row.id: row for row in comparisons(found, check, chain)}
    result: list[StepLine] = []
    for one in sorted(rows, key=lambda one: (*place(found, one), depth(one, chain))):
        before = next((line for line in reversed(result) if line.id == rows[one].base), None)
        start = before.level_ms if before else ms(found, rows[one].base)
        ratio = rows[one].estimate.ratio
        result.append(
            StepLine(
                one,
                rows[one].base,
                depth(one, chain),
                changes[one.framework, one.variant].change,
                start,
                start * ratio if start and ratio else None,
                rows[one].estimate,
                rows[one].certificate,
                rows[one].reason,
            )
        )
    return result


def place(found: Measurements, one: BenchmarkId) -> tuple[object, ...]:
    """Sort key: the place of the framework's default."""
    return found.machine.order(one._replace(variant="default"))


def depth(one: BenchmarkId, chain: Mapping[BenchmarkId, BenchmarkId]) -> int:
    """The number of changes from the first variant of the chain to this one."""
    count = 0
    while one in chain:
        one, count = chain[one], count + 1
    return count


def ms(found: Measurements, one: BenchmarkId) -> float | None:
    """The geometric mean of the replicates' medians, as in contenders.csv."""
    rows = found.processes.get(one)
    return None if rows is None else geometric_mean(rows["median"])

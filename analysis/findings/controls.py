"""Controls: whether the interval of each control's ratio contains the known true ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from analysis.data.processes import Measurements
from analysis.data.results import BenchmarkId, Control
from analysis.findings.comparisons import ratios
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import student
from analysis.stats.intervals import UNKNOWN, Interval
from analysis.stats.tails import binomial_above


@dataclass(frozen=True)
class ControlLine:
    """A row of controls.csv: a control's time over that of its contender, the variant `of`, which
    runs in another process. The true ratio is `truth`.

    The interval is Student's over replicates, and `p` is two-sided, for the ratio being the truth.
    `contains_truth` is None for a control that was not judged; `reason` says why.
    """

    COLUMNS: ClassVar = (
        "machine workload framework variant of device threads slowed_by replicates truth ratio "
        "ratio_low ratio_high p contains_truth dataset reason"
    )

    id: BenchmarkId
    of: str
    slowed_by: float
    replicates: int = 0
    ratio: Annotated[Interval, "ratio ratio_low ratio_high"] = UNKNOWN
    p: float | None = None
    contains_truth: bool | None = None
    reason: str = ""

    @property
    def truth(self) -> float:
        return 1 + self.slowed_by

    @property
    def original(self) -> BenchmarkId:
        return self.id._replace(variant=self.of)

    @property
    def furthest(self) -> float:
        """How far the more distant end of the interval is from the truth, in either direction:
        0.05 for 1.05 and for 1 / 1.05."""
        _, low, high = self.ratio
        return max(high / self.truth, self.truth / low) - 1 if low and high else 0.0


def control_lines(found: Measurements, check: LossCheck) -> list[ControlLine]:
    """A row for each control whose true ratio is known."""
    controls = {one: found.machine.control(one) for one in found.availability}
    return [
        control_line(one, control, found, check)
        for one, control in controls.items()
        if control and not (control.paused or control.loader)
    ]


def control_line(
    one: BenchmarkId, control: Control, found: Measurements, check: LossCheck
) -> ControlLine:
    """A control is not judged if it or its contender fails the loss check."""
    original = one._replace(variant=control.of)
    fault = check.faults.get(original) or check.faults.get(one, "")
    logs, _, reason = ratios(one, original, found, fault)
    if not logs:
        return ControlLine(one, control.of, control.slowed_by, reason=reason)
    confidence, truth = found.machine.study.confidence, math.log1p(control.slowed_by)
    error = student([log - truth for log in logs], confidence)
    ratio = error.interval.through(lambda log: math.exp(log + truth))
    contains = None if error.p is None else error.p >= 1 - confidence
    return ControlLine(
        one, control.of, control.slowed_by, len(logs), ratio, error.p, contains, reason
    )


def judged(rows: Sequence[ControlLine]) -> list[ControlLine]:
    return [row for row in rows if row.contains_truth is not None]


def missed(rows: Sequence[ControlLine]) -> list[ControlLine]:
    """The controls whose intervals do not contain the truth."""
    return [row for row in rows if row.contains_truth is False]


def expected_misses(rows: Sequence[ControlLine], confidence: float) -> float:
    """How many of the judged controls miss the truth by chance, on average."""
    return len(judged(rows)) * (1 - confidence)


def beyond_chance(rows: Sequence[ControlLine], confidence: float) -> bool:
    """Whether chance hardly explains the misses: too many intervals miss the truth (binomial test),
    or one of them misses by too much for their number (Bonferroni)."""
    alpha, tried, missing = 1 - confidence, judged(rows), missed(rows)
    if not missing:
        return False
    least = min(row.p or 0.0 for row in missing)
    return least * len(tried) < alpha or (
        binomial_above(len(missing) - 1, len(tried), alpha) < alpha
    )

"""How precisely each ratio is known, and how many more replicates would reach the study's target.

This is about the width of the interval only, whatever the ratio is.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison
from analysis.stats.tails import f_below, t_exceeded

ASSURANCE = 0.8  # probability that the advised number of replicates is enough
MOST = 1000  # the most replicates that a configuration may request


@dataclass(frozen=True)
class HalfWidthLine:
    """A row of half_width.csv, for each comparison. Without an interval, nothing was computed.

    `half_width` is half the relative width of the interval at the study's confidence: 0.03 is
    a factor of 1.03 in either direction. `more` replicates reach the `target` of the study with a
    probability of 0.8. Measuring them would take about `minutes`, for all workloads together.
    """

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework reference reference_variant replicates "
        "ratio half_width target more minutes dataset reason"
    )

    comparison: Comparison
    target: float
    half_width: float | None = None
    more: int | None = None
    minutes: float | None = None

    @property
    def id(self) -> BenchmarkId:
        return self.comparison.id

    @property
    def reached(self) -> bool:
        return self.more == 0


def half_width_lines(machine: Machine, rows: Sequence[Comparison]) -> list[HalfWidthLine]:
    each = minutes_each(machine)
    return [half_width_line(machine, row, each) for row in rows]


def half_width_line(machine: Machine, row: Comparison, minutes: float) -> HalfWidthLine:
    target, alpha = machine.study.target_precision, 1 - machine.study.confidence
    n, (_, low, high) = row.estimate.replicates, row.estimate.ends
    if low is None or high is None:
        return HalfWidthLine(row, target)
    half = math.sqrt(high / low) - 1
    more = replicates_assured(scatter(half, n, alpha), n, target, alpha) - n
    return HalfWidthLine(row, target, half, more, more * minutes)


def minutes_each(machine: Machine) -> float:
    """Minutes for one more replicate of the study: the sum of the workloads' median contests."""
    contests = [machine.contests(name).values() for name in machine.workloads]
    return sum(median(c.duration_s for c in held) for held in contests if held) / 60


def scatter(half_width: float, n: int, alpha: float) -> float:
    """Standard deviation of the log-ratios of `n` replicates, from their relative half-width."""
    return math.log1p(half_width) * math.sqrt(n) / t_exceeded(alpha / 2, n - 1)


def half_width(sd: float, n: int, alpha: float) -> float:
    """Half-width of Student's interval of the mean of `n` logarithms; not yet relative."""
    return t_exceeded(alpha / 2, n - 1) * sd / math.sqrt(n)


def foreseen(sd: float, n: int, later: int, alpha: float) -> float:
    """The half-width that `later` replicates will not exceed with the probability
    `ASSURANCE`, when the first `n` of them had the standard deviation `sd`.

    The sum of squares that m more replicates add, over m and over sd squared, has the F
    distribution with m and n - 1 degrees of freedom. Unlike a half-width from `sd` alone, this
    accounts for sampling error in both the observed and the future scatter.
    """
    more = later - n
    if more <= 0:
        return half_width(sd, n, alpha)
    growth = (n - 1 + more * f_below(ASSURANCE, more, n - 1)) / (later - 1)
    return half_width(sd * math.sqrt(growth), later, alpha)


def replicates_assured(sd: float, n: int, target: float, alpha: float) -> int:
    """Fewest replicates, `n` at least, that reach the target with 80 % probability."""
    width = math.log1p(target)
    return fewest(n, lambda later: foreseen(sd, n, later, alpha) <= width)


def fewest(least: int, enough: Callable[[int], bool]) -> int:
    """The smallest number from `least` on that is `enough`; all larger numbers must be, too."""
    if enough(least):
        return least
    most = 2 * least
    while not enough(most):
        most *= 2
    return bisect_left(range(most), True, lo=least, key=enough)

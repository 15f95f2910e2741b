"""From replicates to a verdict.

The unit is the replicate: a contest in fresh processes. Mini-batches of one process are not
independent of each other, so more of them do not make a conclusion more certain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.stats.intervals import Interval
from analysis.stats.tails import t_exceeded

Verdict = Literal[
    "faster", "slower", "equivalent", "cannot tell", "missing", "refused", "no steady state"
]
OPPOSITE: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
Ends = tuple[float, float]
SAME = 1e-12  # logs closer than this count as equal; otherwise rounding would look like a variance


@dataclass(frozen=True)
class Estimate:
    """The estimate of one pair's ratio of times, from its replicates.

    Without replicates there is only a verdict, and with one replicate no interval. `tost_low` and
    `tost_high` are the narrower interval of the equivalence test: 90 % if the interval of the ratio
    is 95 %. `p_adjusted` is Holm's over the pair's family; no verdict depends on it.
    """

    replicates: int = 0
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    tost_low: float | None = None
    tost_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "missing"

    @property
    def ends(self) -> Interval:
        """The ratio and both ends of its interval."""
        return Interval(self.ratio, self.ratio_low, self.ratio_high)

    @property
    def inverse(self) -> "Estimate":
        """The estimate of the other side's time over this side's."""
        return replace(
            self,
            ratio=reciprocal(self.ratio),
            ratio_low=reciprocal(self.ratio_high),
            ratio_high=reciprocal(self.ratio_low),
            tost_low=reciprocal(self.tost_high),
            tost_high=reciprocal(self.tost_low),
            verdict=OPPOSITE.get(self.verdict, self.verdict),
        )

    def standard_error(self, confidence: float) -> float | None:
        """Standard error of the logarithm of the ratio, from its interval; None without one."""
        if self.ratio_low is None or self.ratio_high is None:
            return None
        reach = t_exceeded((1 - confidence) / 2, self.replicates - 1)
        return math.log(self.ratio_high / self.ratio_low) / 2 / reach


def reciprocal(value: float | None) -> float | None:
    return None if value is None else 1 / value


def estimates(
    family: Sequence[Sequence[float]], margin: float, confidence: float
) -> list[Estimate]:
    """The estimate of each pair, given as the logarithms of its ratios, one for each replicate.
    Only `p_adjusted` depends on the other pairs of the family."""
    found = [estimate(logs, margin, confidence) for logs in family]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else replace(one, p_adjusted=next(adjusted)) for one in found]


def estimate(logs: Sequence[float], margin: float, confidence: float) -> Estimate:
    if not logs:
        return Estimate()
    if len(logs) == 1:
        return Estimate(1, math.exp(logs[0]), verdict="cannot tell")
    values = np.array([logs], dtype=float)
    mean, _, *interval, p = (float(part[0]) for part in students(values, confidence))
    _, _, *narrow, _ = (float(part[0]) for part in students(values, of_equivalence(confidence)))
    ratio, low, high, tost_low, tost_high = map(math.exp, (mean, *interval, *narrow))
    said = verdict((low, high), (tost_low, tost_high), margin)
    return Estimate(len(logs), ratio, low, high, tost_low, tost_high, p, verdict=said)


def of_equivalence(confidence: float) -> float:
    """The confidence of the interval that decides equivalence: 0.9 for 0.95. An interval at
    1 - 2 alpha within the margin is two one-sided tests at alpha (Schuirmann 1987)."""
    return 2 * confidence - 1


def verdict(interval: Ends, narrow: Ends, margin: float) -> Verdict:
    """The verdict on a ratio, from its interval and its narrower interval of the equivalence test.

    Equivalent if the narrower interval lies within the margin, either way; else faster or slower
    if the interval leaves out 1; else the study cannot tell. A ratio that differs from 1 by less
    than the margin is therefore equivalent, however certain the difference is.
    """
    if 1 / (1 + margin) <= narrow[0] and narrow[1] <= 1 + margin:
        return "equivalent"
    if interval[1] < 1:
        return "faster"
    return "slower" if interval[0] > 1 else "cannot tell"


@dataclass(frozen=True)
class Mean:
    """Mean of `n` logarithms. Without a second replicate there is no `sd`, interval or `p`."""

    n: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def interval(self) -> Interval:
        return Interval(self.mean, self.low, self.high)


def student(logs: Sequence[float], confidence: float) -> Mean:
    """Student's one-sample t: interval of the mean, and two-sided p that it is zero."""
    values = np.asarray(logs, dtype=float)
    if len(values) < 2:
        return Mean(len(values), float(values.mean()))
    return Mean(len(values), *(float(part[0]) for part in students(values[None], confidence)))


def students(logs: NDArray[np.float64], confidence: float) -> tuple[NDArray[np.float64], ...]:
    """`student` of every row of `logs` (rows, replicates), two replicates at least: means,
    standard deviations, lower and upper ends, p-values."""
    n = logs.shape[1]
    mean = logs.mean(axis=1)
    spread = np.ptp(logs, axis=1) >= SAME
    sd = np.where(spread, logs.std(axis=1, ddof=1), 0.0)
    error = sd / math.sqrt(n)
    half = t_exceeded((1 - confidence) / 2, n - 1) * error
    p = (np.abs(mean) < SAME).astype(float)
    p[spread] = 2 * special.stdtr(n - 1, -np.abs(mean[spread] / error[spread]))
    return mean, sd, mean - half, mean + half, p


def holm(p: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values of one family."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return [float(q) for q in np.minimum(adjusted, 1.0)]

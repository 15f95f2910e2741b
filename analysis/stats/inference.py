"""From replicates to a verdict.

The replicate, a contest in fresh processes, is the unit. Mini-batches of one process are not
independent of each other, so a larger number of them does not make a conclusion more certain.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Verdict = Literal[
    "faster", "slower", "equivalent", "cannot tell", "missing", "refused", "no steady state"
]
POWER = 0.8
MOST = 700.0  # logarithm of the largest ratio that is reported; a float overflows at 710
SAME = 1e-12  # logs closer than this count as equal; otherwise rounding would look like a variance


@dataclass(frozen=True)
class Estimate:
    """The estimate of one pair's ratio of times, from its replicates.

    Without replicates there is only a verdict, and with one replicate no interval. `p_adjusted` is
    Holm's over the pair's family. `detectable` is the smallest ratio minus 1 that as many
    replicates detect with 80 % power; `replicates_needed` would detect the margin. Both are at
    alpha over the size of the family, because Holm's first step, the hardest, is at that level.
    """

    replicates: int = 0
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "missing"
    detectable: float | None = None
    replicates_needed: int | None = None

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """The ratio and both ends of its interval."""
        return self.ratio, self.ratio_low, self.ratio_high


def estimates(
    family: Sequence[Sequence[float]], margin: float, confidence: float
) -> list[Estimate]:
    """Judge a family of pairs together; each is given as the logarithms of its ratios, one for
    each replicate."""
    found = [
        Estimate(1, math.exp(logs[0]), verdict="cannot tell") if len(logs) == 1 else Estimate()
        for logs in family
    ]
    several = [place for place, logs in enumerate(family) if len(logs) > 1]
    parts = [students(np.array([family[place]]), confidence) for place in several]
    means, sds, lows, highs, p = ([float(part[n][0]) for part in parts] for n in range(5))
    ratios, lows, highs = ([math.exp(end) for end in ends] for ends in (means, lows, highs))
    alpha = 1 - confidence
    adjusted, said = verdicts(ratios, lows, highs, p, margin, alpha)
    for number, place in enumerate(several):
        n, sd, hardest = len(family[place]), sds[number], alpha / len(several)
        found[place] = Estimate(
            n, ratios[number], lows[number], highs[number], p[number], adjusted[number],
            said[number], detectable(sd, n, hardest), replicates_needed(sd, margin, hardest),
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class Mean:
    """Mean of `n` logarithms. Without a second replicate there is no `sd`, interval or `p`."""

    n: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


def student(logs: Sequence[float], confidence: float) -> Mean:
    """Student's one-sample t: interval of the mean, and two-sided p that it is zero."""
    values = np.asarray(logs, dtype=float)
    if len(values) < 2:
        return Mean(len(values), float(values.mean()))
    return Mean(len(values), *(float(part[0]) for part in students(values[None], confidence)))


def students(logs: NDArray[np.float64], confidence: float) -> tuple[NDArray[np.float64], ...]:
    """`student` of every row of `logs` (rows, replicates), two replicates at least: means,
    standard deviations, lower and upper ends, p-values."""
    low = logs.mean(axis=1)
    mean, high, p = low.copy(), low.copy(), (np.abs(low) < SAME).astype(float)
    spread = np.ptp(logs, axis=1) >= SAME
    sd = np.where(spread, logs.std(axis=1, ddof=1), 0.0)
    if spread.any():
        test = stats.ttest_1samp(logs[spread], 0.0, axis=1)
        low[spread], high[spread] = test.confidence_interval(confidence)
        p[spread] = test.pvalue
    return mean, sd, low, high, p


def holm(p: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values of one family."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return [float(q) for q in np.minimum(adjusted, 1.0)]


def verdicts(
    ratios: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    p: Sequence[float],
    margin: float,
    alpha: float,
) -> tuple[list[float], list[Verdict]]:
    """Adjusted p-values and verdicts of one family."""
    adjusted = holm(p)
    rows = zip(ratios, lows, highs, adjusted, strict=True)
    return adjusted, [verdict(*row, margin, alpha) for row in rows]


def verdict(
    ratio: float, low: float, high: float, p_adjusted: float, margin: float, alpha: float
) -> Verdict:
    """Equivalent if the whole interval lies within the margin, either way; faster or slower if
    the adjusted p is below alpha; else the study cannot tell."""
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return "equivalent"
    if p_adjusted < alpha:
        return "faster" if ratio < 1 else "slower"
    return "cannot tell"


def detectable(sd: float, n: int, alpha: float) -> float:
    """Smallest true ratio minus 1 that `n` replicates detect with 80 % power, if the observed
    standard deviation of the log-ratios is the true one."""
    most = 1.0
    while power(most, n, alpha) < POWER:
        most *= 2
    effect = optimize.brentq(lambda effect: power(effect, n, alpha) - POWER, 0.0, most)
    return math.expm1(min(float(effect) * sd, MOST))


def replicates_needed(sd: float, margin: float, alpha: float) -> int:
    """Fewest replicates, two at least, that detect a ratio of `1 + margin` with 80 % power."""
    if sd == 0:
        return 2
    effect = math.log1p(margin) / sd
    most = 2
    while power(effect, most, alpha) < POWER:
        most *= 2
    return bisect_left(range(most), True, lo=2, key=lambda n: power(effect, n, alpha) >= POWER)


def power(effect: float, n: int, alpha: float) -> float:
    """Power of the two-sided one-sample t test at a true mean of `effect` standard
    deviations: both tails of the noncentral t distribution."""
    critical, shift = stats.t.isf(alpha / 2, n - 1), effect * math.sqrt(n)
    near = float(stats.nct.sf(critical, n - 1, shift))
    far = float(stats.nct.cdf(-critical, n - 1, shift))
    # statsmodels' TTestPower.power is this sum, but scipy answers NaN for some far tails
    # (all below 1e-6), which stops a search for the effect in the wrong place.
    return near + (0.0 if math.isnan(far) else far)

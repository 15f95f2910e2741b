"""Whether a process reached steady state, and with which mini-batch: measured, not assumed.

The classes and the idea come from Barrett et al. (2017), "Virtual machine warmup blows hot and
cold". Changepoint detection gives segments of equal level; segments that differ by less than the
margin are one level; steady state is the last level, if the process reached it early enough.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from analysis.steady_state.changepoints import (
    SHORTEST,
    Scatter,
    Segments,
    Series,
    scatter,
    segments,
    without_spikes,
)

Kind = Literal["flat", "warm-up", "slowdown", "no steady state", "too short"]
KINDS: tuple[Kind, ...] = ("flat", "warm-up", "slowdown", "no steady state", "too short")

MATTERS = 0.03  # relative difference of levels; the margin of verdicts is another question
FEWEST = 12  # mini-batches; fewer do not define a level
TAIL = 0.25  # of the series, at its end, must be steady; Barrett et al.: 500 of 2,000
BURSTS = 0.25  # share of the series after the start that may leave the level and return
OUTLIER = 4.0  # standard deviations
SURE = 1.5  # standard errors of three mini-batches


class Warmup(NamedTuple):
    """`start`: the first steady mini-batch; the length of the series if there is none."""

    kind: Kind
    start: int


def detect(series: Series, margin: float, noise: Scatter | None = None) -> Warmup:
    """Class and start of steady state of one process.

    Args:
        series: logarithms of times, in order, one each mini-batch.
        margin: relative difference of levels that does not matter.
        noise: of the mini-batches; by default it is estimated from this series alone.
    """
    n, same = len(series), math.log1p(margin)
    if n < FEWEST:
        return Warmup("too short", 0)
    noise = noise or scatter(np.diff(series))
    smooth = without_spikes(series, noise.sd)
    found = segments(smooth, noise)
    latest = math.floor(n * (1 - TAIL))
    start = steady_from(smooth, found, same, latest)
    if start <= latest:
        start = settled(series, smooth, start, noise, same, latest)
    if start > latest or drifting(smooth, found, noise, same):
        return Warmup("no steady state", n)
    if start == 0:
        return Warmup("flat", 0)
    slower = series[:start].mean() > np.median(smooth[start:])
    return Warmup("warm-up" if slower else "slowdown", start)


def steady_from(smooth: Series, found: Segments, same: float, latest: int) -> int:
    """The start of the last run of segments on the level of the last segment. If the process
    reached this level early and left it only for short bursts, it is steady from there: the
    machine causes bursts more often than the contender does."""
    spans = found.spans
    levels = [float(smooth[a:b].mean()) for a, b in spans]
    equal = [abs(level - levels[-1]) <= same for level in levels]
    run = len(spans) - 1
    while run and equal[run - 1]:
        run -= 1
    start, first = spans[run][0], spans[equal.index(True)][0]
    away = sum(b - a for (a, b), here in zip(spans, equal, strict=True) if a > first and not here)
    if start <= latest and away <= BURSTS * (len(smooth) - first):
        return first
    return start


def settled(
    series: Series, smooth: Series, start: int, noise: Scatter, same: float, latest: int
) -> int:
    """`start`, or later: after slow mini-batches that are too few for a segment, and after the end
    of a decay that the segment includes."""
    level = np.median(smooth[start:])
    for place in range(start, start + SHORTEST):
        if abs(series[place] - level) <= max(OUTLIER * noise.sd, same):
            break
        start = place + 1
    if start:
        half = smooth[-((len(smooth) - start) // 2) :].mean()
        far = max(same, SURE * noise.lasting / math.sqrt(SHORTEST))
        while start <= latest and abs(smooth[start : start + SHORTEST].mean() - half) > far:
            start += 1
    return start


def drifting(smooth: Series, found: Segments, noise: Scatter, same: float) -> bool:
    """Whether a trend to the end is likelier than levels and continues in the last half: by more
    than the margin plus half a standard error."""
    n = len(smooth)
    last, error, _ = trend(smooth[n // 2 :])
    going = (abs(last) - noise.lasting * error / 2) * n / 2 > same
    levels = sum(found.costs) + found.penalty * (len(found.costs) - 1)
    for number, start in enumerate(found.bounds[:-1]):
        if not going or start > n / 2:
            return False
        slope, _, squares = trend(smooth[start:])
        alone = sum(found.costs[:number]) + found.cost.of(squares, n - start)
        # a slope adds one parameter, like a change
        if alone + found.penalty * (number + 1) < levels and slope * last > 0:
            return True
    return False


def trend(series: Series) -> tuple[float, float, float]:
    """Slope by least squares, its standard error for a scatter of 1, and squared residuals."""
    place = np.arange(len(series)) - (len(series) - 1) / 2
    spread = float(place @ place)
    slope = float(place @ series) / spread
    squares = float(((series - series.mean() - slope * place) ** 2).sum())
    return slope, 1 / math.sqrt(spread), squares

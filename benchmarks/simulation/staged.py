"""Two stages: look at a study, add the replicates that would make an interval narrow enough,
and analyse all of them as if their number had been fixed before."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.findings.precision import foreseen, half_width
from benchmarks.simulation.judging import ALPHA, MARGIN, Bools, Floats, judge
from benchmarks.simulation.rates import Rate, joined

Counts = NDArray[np.int64]

MOST = 24  # replicates that anybody would wait for


@dataclass(frozen=True)
class Staged:
    """What came of starting with `first` replicates and going on by `rule`: coverage of all
    final intervals, of the rows that stopped at once and of those that went on, the share of
    the latter, of those that went on to `MOST`, and the replicates that a row had in the end, on
    average. `stein` is the coverage of Stein's (1945) interval: around the mean of all
    replicates, but with the standard deviation and the degrees of freedom of the first ones, on
    which the decision rests."""

    rule: str
    first: int
    coverage: Rate
    stopped: Rate
    continued: Rate
    stein: Rate
    share: float
    to_the_end: float
    replicates: float


def row_by_row(sd: Floats, first: int) -> Counts:
    """Each row goes on until its interval would be narrow enough if `sd` were the true
    standard deviation: `t(n - 1) sd / sqrt(n) <= log(1 + margin)`."""
    return fewest(sd, first, lambda count: half_width(1.0, count, ALPHA))


def as_advised(sd: Floats, first: int) -> Counts:
    """The report's advice: all rows of a study go on until the worst of them is narrow enough
    with a probability of 80 %."""
    each = fewest(sd, first, lambda count: foreseen(1.0, first, count, ALPHA))
    found: Counts = np.broadcast_to(each.max(axis=1, keepdims=True), each.shape)
    return found


def fewest(sd: Floats, first: int, reach: Callable[[int], float]) -> Counts:
    """Fewest replicates from `first` to `MOST` for which `reach`, of a standard deviation of 1,
    is within the margin; `MOST` where none are enough."""
    counts = np.arange(first, MOST + 1)
    reaches = np.array([reach(int(count)) for count in counts])
    enough = sd[..., None] * reaches <= np.log1p(MARGIN)
    found: Counts = np.where(enough.any(-1), counts[enough.argmax(-1)], MOST)
    return found


RULES: dict[str, Callable[[Floats, int], Counts]] = {
    "each row by itself": row_by_row,
    "the study, as advised": as_advised,
}


def staged(portions: Iterable[tuple[Floats, Floats]], rule: str, first: int) -> Staged:
    """`portions` are log-ratios (studies, `MOST` replicates, rows), and their truth; `rule` is
    one of RULES."""
    covered: list[Bools] = []
    went_on: list[Bools] = []
    counts: list[Counts] = []
    steins: list[Bools] = []
    for ratios, truth in portions:
        sd = judge(ratios[:, :first]).sd
        final = RULES[rule](sd, first)
        hit, mean = np.zeros(final.shape, bool), np.zeros(final.shape)
        for count in np.unique(final):
            rows, found = final == count, judge(ratios[:, :count])
            hit[rows], mean[rows] = found.covers(truth)[rows], found.mean[rows]
        covered.append(hit)
        reach = stats.t.isf(ALPHA / 2, first - 1) * sd / np.sqrt(final)
        steins.append(np.abs(mean - truth) <= reach)
        went_on.append(final > first)
        counts.append(final)
    hits, again = np.concatenate(covered), np.concatenate(went_on)
    ended = np.concatenate(counts)
    return Staged(
        rule=rule,
        first=first,
        coverage=joined(covered),
        stopped=joined([hits[~again]]),
        continued=joined([hits[again]]),
        stein=joined(steins),
        share=float(again.mean()),
        to_the_end=float((ended == MOST).mean()),
        replicates=float(ended.mean()),
    )

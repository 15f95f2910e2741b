"""Two stages: look at a study, add the replicates that would make an interval narrow enough,
and analyse all of them as if their number had been fixed before."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.simulation.judging import ALPHA, MARGIN, Bools, Floats, judge
from analysis.simulation.rates import Rate, joined

MOST = 24  # replicates that anybody would wait for


@dataclass(frozen=True)
class Staged:
    """What came of starting with `first` replicates and deciding row by row: coverage of all
    final intervals, of the rows that stopped at once and of those that went on, the share of
    the latter, and the replicates that a row had in the end, on average. `stein` is the coverage
    of Stein's (1945) interval: around the mean of all replicates, but with the standard deviation
    and the degrees of freedom of the first ones, on which the decision rests."""

    first: int
    coverage: Rate
    stopped: Rate
    continued: Rate
    stein: Rate
    share: float
    replicates: float


def wanted(sd: Floats, least: int, most: int = MOST) -> NDArray[np.int64]:
    """Fewest replicates from `least` to `most` whose interval would reach no further than the
    margin if `sd` were the true standard deviation: `t(n - 1) sd / sqrt(n) <= log(1 + margin)`;
    `most` where none are enough."""
    counts = np.arange(least, most + 1)
    reach = stats.t.isf(ALPHA / 2, counts - 1) / np.sqrt(counts)
    enough = sd[..., None] * reach <= np.log1p(MARGIN)
    found: NDArray[np.int64] = np.where(enough.any(-1), counts[enough.argmax(-1)], most)
    return found


def staged(portions: Iterable[tuple[Floats, Floats]], first: int) -> Staged:
    """`portions` are log-ratios (studies, `MOST` replicates, rows), and their truth."""
    covered: list[Bools] = []
    went_on: list[Bools] = []
    counts: list[NDArray[np.int64]] = []
    steins: list[Bools] = []
    for ratios, truth in portions:
        sd = judge(ratios[:, :first]).sd
        final = wanted(sd, first)
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
    return Staged(
        first=first,
        coverage=joined(covered),
        stopped=joined([hits[~again]]),
        continued=joined([hits[again]]),
        stein=joined(steins),
        share=float(again.mean()),
        replicates=float(np.concatenate(counts).mean()),
    )

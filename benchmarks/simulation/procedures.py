"""The same noise under other procedures: counting mini-batches, and adding replicates after a
look."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.findings.precision import foreseen, half_width
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.judging import (
    ALPHA,
    MARGIN,
    Bools,
    Floats,
    Rate,
    joined,
    judge,
    medians,
    rate,
)
from benchmarks.simulation.noise import facts
from benchmarks.simulation.scenarios import SEED

LONG = Deal(warmup=0, rounds=1, turn=300, settle=0)
PROCESSES = 10  # of each side
AT_ONCE = 50

Method = Callable[[Floats, Floats], Bools]  # two sides, each (comparisons, processes, batches)


def by_batch(one: Floats, other: Floats) -> Bools:
    """Welch's test of all mini-batches of two processes."""
    return welch(np.exp(one[:, 0]), np.exp(other[:, 0]))


def pooled(one: Floats, other: Floats) -> Bools:
    """Welch's test of the mini-batches of ten processes, thrown together."""
    count = len(one)
    return welch(np.exp(one).reshape(count, -1), np.exp(other).reshape(count, -1))


def by_process(one: Floats, other: Floats) -> Bools:
    """Welch's test of ten medians, one of each process."""
    return welch(medians(one, LONG), medians(other, LONG))


def welch(one: Floats, other: Floats) -> Bools:
    found: Bools = stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue < ALPHA
    return found


METHODS: dict[str, Method] = {
    "every mini-batch, one process against one": by_batch,
    "every mini-batch, ten processes against ten": pooled,
    "one median per process, ten against ten": by_process,
}


def false_positives(comparisons: int, cv: float = 0.05) -> dict[str, Rate]:
    """By method, of two equal contenders, under noise as in `facts` but without interference,
    which unpaired tests would count as noise."""
    hits: dict[str, list[Bools]] = {name: [] for name in METHODS}
    noise = replace(facts(cv), contest=0.0, drift=0.0)
    for portion, begin in enumerate(range(0, comparisons, AT_ONCE)):
        here = min(AT_ONCE, comparisons - begin)
        random = np.random.default_rng([SEED, round(1000 * cv), portion])
        logs = draw([noise, noise], [1.0, 1.0], LONG, here * PROCESSES, random)
        one, other = logs.reshape(here, PROCESSES, 2, -1).transpose(2, 0, 1, 3).astype(float)
        for name, method in METHODS.items():
            hits[name].append(method(one, other))
    return {name: rate(np.concatenate(found)) for name, found in hits.items()}


Counts = NDArray[np.int64]

MOST = 24  # replicates; more would take too long in practice


@dataclass(frozen=True)
class Staged:
    """The result of starting with `first` replicates and going on by `rule`: coverage of all
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
    is within the margin; `MOST` if no number is enough."""
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

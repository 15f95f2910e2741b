"""The same noise under other procedures: counting mini-batches, adding replicates after a look, and
searching for steady state first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.findings.precision import foreseen, half_width
from analysis.stats.rounds import median
from analysis.steady_state.search import NONE, Trace, shared_by_others
from analysis.steady_state.search import search as search_processes
from benchmarks.simulation.drawing import Array, Deal, draw
from benchmarks.simulation.judging import (
    ALPHA,
    MARGIN,
    Bools,
    Floats,
    Rate,
    joined,
    judge,
    log_ratios,
    medians,
    rate,
)
from benchmarks.simulation.noise import Noise, facts
from benchmarks.simulation.scenarios import SCENARIOS, SEED, WORKLOADS

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


SEARCH_SEED = 5
REPLICATES = 5
CORES = (range(5), range(5, 10))  # contenders on one thread, and on two


@dataclass(frozen=True)
class Searched:
    """`false` and `coverage` are of all rows that have a ratio. `withheld` are contenders that were
    wrongly called without a steady state; `later` and `never` are processes whose steady state
    was wrongly found to start late or never."""

    replicates: int
    false: Rate
    coverage: Rate
    withheld: Rate
    later: Rate
    never: Rate


def searched(
    fits: Sequence[Noise], studies: int, report: Callable[[int], None], late: float = 0.0
) -> Searched:
    """Studies of equal contenders under fitted noise; `report` is called with the number of each.
    With `late`, one side of every pair takes longer by it in the first third of the rounds, and
    the machine itself in the last two thirds. So if each side were judged over rounds of its own,
    the sides would have other interference."""
    deal, scenario = Deal(), SCENARIOS["fitted"]
    covered: list[Bools] = []
    false: list[Bools] = []
    withheld: list[Bools] = []
    starts: list[Floats] = []
    for study in range(studies):
        report(study)
        random = np.random.default_rng([SEARCH_SEED, study])
        for workload in range(WORKLOADS):
            setup = scenario.build(fits, WORKLOADS * study + workload)
            logs = draw(setup.noises, setup.times, deal, REPLICATES, random)
            if late:
                logs[..., deal.round > deal.rounds // 3] += np.float32(np.log1p(late / 2))
                references = [[base] for base in sorted({base for _, base in setup.pairs})]
                logs[:, references, deal.round <= deal.rounds // 3] += np.float32(np.log1p(late))
            steady, begun = search(logs, deal, CORES)
            starts.append(begun)
            unsteady = 2 * np.isnan(begun).sum(axis=0) > REPLICATES
            withheld.append(unsteady)
            pairs = [pair for pair in setup.pairs if not unsteady[list(pair)].any()]
            if not pairs:
                continue
            judged = judge(log_ratios(logs, deal, pairs, steady)[None])
            covered.append(judged.covers(0.0)[0])
            false.append(judged.p[0] < ALPHA)
    begun = np.concatenate([s.ravel() for s in starts])
    return Searched(
        REPLICATES, joined(false), joined(covered), joined(withheld),
        later=joined([begun > deal.warmup + deal.settle]), never=joined([np.isnan(begun)]),
    )  # fmt: skip


def search(
    logs: Array | Floats, deal: Deal, cores: Sequence[Sequence[int]]
) -> tuple[Bools, Floats]:
    """Search contests (contests, contenders, mini-batches) for steady state, as the report does.

    Args:
        cores: the contenders that share cores.

    Returns:
        Which mini-batches count as steady, and the step at which each process's steady state
        begins: NaN if it never does, the others' median if it alone slowed down.
    """
    turns = median(deal.by_round(logs)[..., deal.settle :])
    shared = np.zeros(logs.shape)
    for group in cores:
        found = shared_by_others(turns[:, list(group)], range(len(group)))
        shared[:, list(group), deal.warmup :] = found.repeat(deal.turn, axis=-1)
    chosen = np.flatnonzero(deal.steady | (deal.round == 0))
    series, steps = (logs.astype(float) - shared)[..., chosen], chosen.astype(float)
    rounds = deal.round[chosen].astype(float)
    starts, begun = np.empty((2, *logs.shape[:2]))
    for contender in range(logs.shape[1]):
        one = search_processes([Trace(own, steps, rounds) for own in series[:, contender]])
        never = np.array([kind == NONE for kind in one.kinds])
        begun[:, contender], starts[:, contender] = one.begun, np.where(never, np.nan, one.begun)
    return deal.steady & (np.arange(logs.shape[2]) >= begun[..., None]), starts

"""Simulated studies with steady state searched for, as the report does before anything else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.hodges_lehmann import by_round, hodges_lehmann
from analysis.steady_state.changepoints import Scatter
from analysis.steady_state.classify import MATTERS, detect
from analysis.steady_state.series import OTHERS, Trace, noise
from analysis.steady_state.table import SLOWDOWN
from benchmarks.simulation.drawing import Array, Deal, draw
from benchmarks.simulation.judging import ALPHA, Bools, Floats, judge
from benchmarks.simulation.noise import Noise
from benchmarks.simulation.rates import Rate, joined
from benchmarks.simulation.scenarios import SCENARIOS, WORKLOADS

SEED = 5
REPLICATES = 5
CORES = (range(5), range(5, 10))  # contenders on one thread, and on two


@dataclass(frozen=True)
class Searched:
    """`false` and `coverage` of all rows that have a ratio. `withheld` are contenders that were
    called without a steady state though the model knows no such thing, `later` and `never`
    processes that were thought to start late or never."""

    replicates: int
    false: Rate
    coverage: Rate
    withheld: Rate
    later: Rate
    never: Rate


def searched(
    fits: Sequence[Noise], studies: int, report: Callable[[int], None], late: float = 0.0
) -> Searched:
    """Studies of equal contenders under fitted noise; `report` hears of each. With `late`, one
    side of every pair takes longer by it in the first third of the rounds, and the machine itself
    in the last two thirds: over rounds of its own, each side would have other weather."""
    deal, scenario = Deal(), SCENARIOS["fitted"]
    covered: list[Bools] = []
    false: list[Bools] = []
    withheld: list[Bools] = []
    starts: list[Floats] = []
    for study in range(studies):
        report(study)
        random = np.random.default_rng([SEED, study])
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
            found = np.array([ratios(logs, steady, deal, one, other) for one, other in pairs])
            judged = judge(found.T[None])
            covered.append(judged.covers(0.0)[0])
            false.append(judged.p[0] < ALPHA)
    begun = np.concatenate([s.ravel() for s in starts])
    return Searched(
        REPLICATES, joined(false), joined(covered), joined(withheld),
        later=joined([begun > deal.warmup + deal.settle]), never=joined([np.isnan(begun)]),
    )  # fmt: skip


def search(logs: Array, deal: Deal, cores: Sequence[Sequence[int]]) -> tuple[Bools, Floats]:
    """Of contests (contests, contenders, mini-batches): what counts as steady, as
    `analysis.steady_state.table.marked` has it, and the step at which each process's steady state
    begins, NaN where it never does. `cores` are the contenders that share cores."""
    calm = logs.astype(float) - shared_by_others(logs, deal, cores)
    chosen = np.flatnonzero(deal.steady | (deal.round == 0))
    rounds = deal.round[chosen].astype(float)
    starts = np.full(logs.shape[:2], np.nan)
    slowed = np.zeros(logs.shape[:2], bool)
    for contender in range(logs.shape[1]):
        traces = {
            contest: Trace(calm[contest, contender, chosen], chosen.astype(float), rounds)
            for contest in range(len(logs))
        }
        scatter: Scatter | None = noise(traces)
        for contest, trace in traces.items():
            found = detect(trace.series, MATTERS, scatter)
            if found.start < len(chosen):
                starts[contest, contender] = chosen[found.start]
                slowed[contest, contender] = found.kind == SLOWDOWN
    alone = slowed & (2 * slowed.sum(axis=0) <= len(logs))
    others = np.where(alone, np.nan, starts)
    usual = [np.median(own[own == own]) if any(own == own) else 0.0 for own in others.T]
    begun = np.where(np.isnan(others), np.array(usual)[None], others)
    starts = np.where(alone, begun, starts)
    return deal.steady & (np.arange(logs.shape[2]) >= begun[..., None]), starts


def ratios(logs: Array, steady: Bools, deal: Deal, one: int, other: int) -> Floats:
    """As `analysis.data.processes.paired`, of each contest, over the rounds both sides share."""
    found = np.empty(len(logs))
    for contest, (own, counts) in enumerate(zip(logs.astype(float), steady, strict=True)):
        log_ratio = hodges_lehmann(
            *(by_round(own[side, counts[side]], deal.round[counts[side]]) for side in (one, other))
        )
        found[contest] = np.nan if log_ratio is None else log_ratio
    return found


def shared_by_others(logs: Array, deal: Deal, cores: Sequence[Sequence[int]]) -> Floats:
    """As `analysis.steady_state.series.shared_by_others`: the median over the other contenders
    on the same cores of how far each round was from the contest's own level."""
    turns = np.stack(
        [np.median(logs[..., deal.steady & (deal.round == number)], axis=-1)
         for number in range(1, deal.rounds + 1)], axis=-1,
    )  # fmt: skip
    departures = turns - np.median(turns, axis=-1, keepdims=True)
    found = np.zeros(logs.shape)
    for group in cores:
        for contender in group:
            others = [one for one in group if one != contender]
            if len(others) >= OTHERS:
                median = np.median(departures[:, others], axis=1)
                dealt = deal.round > 0
                found[:, contender, dealt] = median[:, deal.round[dealt] - 1]
    return found

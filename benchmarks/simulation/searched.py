"""Simulated studies with steady state searched for, as the report does before anything else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.hodges_lehmann import median
from analysis.steady_state.search import NONE, Trace, shared_by_others
from analysis.steady_state.search import search as search_processes
from benchmarks.simulation.drawing import Array, Deal, draw
from benchmarks.simulation.judging import ALPHA, Bools, Floats, judge, log_ratios
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

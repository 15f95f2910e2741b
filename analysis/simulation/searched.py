"""Simulated studies with steady state searched for, as the report does before anything else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.segments import Scatter
from analysis.simulation.drawing import Array, Deal, draw
from analysis.simulation.judging import ALPHA, MARGIN, Bools, Floats, judge
from analysis.simulation.noise import Noise
from analysis.simulation.rates import Rate, joined
from analysis.simulation.scenarios import SCENARIOS, WORKLOADS
from analysis.traces import Trace, noise
from analysis.warmup import detect

SEED = 5
REPLICATES = 5


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


def searched(fits: Sequence[Noise], studies: int, report: Callable[[int], None]) -> Searched:
    """Studies of equal contenders under fitted noise; `report` hears of each."""
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
            found, begun = levels(logs, deal)
            starts.append(begun)
            unsteady = 2 * np.isnan(begun).sum(axis=0) > REPLICATES
            withheld.append(unsteady)
            pairs = [pair for pair in setup.pairs if not unsteady[list(pair)].any()]
            one, other = np.array(pairs, int).reshape(-1, 2).T
            judged = judge((found[:, one] - found[:, other])[None])
            covered.append(judged.covers(0.0)[0])
            false.append(judged.p[0] < ALPHA)
    begun = np.concatenate([s.ravel() for s in starts])
    return Searched(
        REPLICATES, joined(false), joined(covered), joined(withheld),
        later=joined([begun > deal.warmup + deal.settle]), never=joined([np.isnan(begun)]),
    )  # fmt: skip


def levels(logs: Array, deal: Deal) -> tuple[Floats, Floats]:
    """Of contests (contests, contenders, mini-batches): the logarithm of each process's median
    over what is steady, and the step at which that begins, NaN where it never does."""
    calm = logs.astype(float) - weather(logs, deal)
    chosen = np.flatnonzero(deal.steady | (deal.round == 0))
    rounds = deal.round[chosen].astype(float)
    medians, starts = np.empty(logs.shape[:2]), np.full(logs.shape[:2], np.nan)
    for contender in range(logs.shape[1]):
        traces = {
            contest: Trace(calm[contest, contender, chosen], chosen.astype(float), rounds)
            for contest in range(len(logs))
        }
        scatter: Scatter | None = noise(traces)
        for contest, trace in traces.items():
            found = detect(trace.series, MARGIN, scatter)
            steady = deal.steady
            if found.start < len(chosen):
                starts[contest, contender] = chosen[found.start]
                steady = steady & (np.arange(logs.shape[2]) >= chosen[found.start])
            medians[contest, contender] = np.median(np.exp(logs[contest, contender, steady]))
    return np.log(medians), starts


def weather(logs: Array, deal: Deal) -> Floats:
    """As `analysis.traces.weather`: the median over the other contenders of how far each round
    was from the contest's own level."""
    rounds = range(1, deal.rounds + 1)
    turns = np.stack(
        [np.median(logs[..., deal.steady & (deal.round == r)], axis=-1) for r in rounds], axis=-1
    )
    departures = turns - np.median(turns, axis=-1, keepdims=True)
    found = np.zeros(logs.shape)
    for contender in range(logs.shape[1]):
        others = np.median(np.delete(departures, contender, axis=1), axis=1)
        found[:, contender, deal.round > 0] = others[:, deal.round[deal.round > 0] - 1]
    return found

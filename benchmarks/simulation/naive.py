"""What a benchmark that counts mini-batches would conclude from the same noise."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import stats

from benchmarks.simulation.conditions import facts
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.judging import ALPHA, Bools, Floats, medians
from benchmarks.simulation.rates import Rate, rate
from benchmarks.simulation.studies import SEED

LONG = Deal(warmup=0, rounds=1, turn=300, settle=0)
PROCESSES = 10  # of each side
PORTION = 50

Method = Callable[[Floats, Floats], Bools]  # two sides, each (comparisons, processes, batches)


def by_batch(one: Floats, other: Floats) -> Bools:
    """Welch's test of all mini-batches of one process against those of another."""
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
    """By method, of two equal contenders, under noise as in `facts`, but in calm weather, which
    unpaired tests would count as noise."""
    hits: dict[str, list[Bools]] = {name: [] for name in METHODS}
    noise = replace(facts(cv), contest=0.0, drift=0.0)
    for portion, begin in enumerate(range(0, comparisons, PORTION)):
        here = min(PORTION, comparisons - begin)
        random = np.random.default_rng([SEED, round(1000 * cv), portion])
        logs = draw([noise, noise], [1.0, 1.0], LONG, here * PROCESSES, random)
        one, other = logs.reshape(here, PROCESSES, 2, -1).transpose(2, 0, 1, 3).astype(float)
        for name, method in METHODS.items():
            hits[name].append(method(one, other))
    return {name: rate(np.concatenate(found)) for name, found in hits.items()}

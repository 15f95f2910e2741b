"""Where a ratio that depends on a size crosses 1, with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.inference import students

STEPS = 200  # between two neighbouring sizes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """`changes` counts how often the sign changes from one size to the next, among the sizes whose
    interval leaves out 1. With one change, the ratio crosses 1 `at` a size between `low` and
    `high`; with none or several, all three are None. `below` and `above` are the signs of the
    logarithm at the smallest and at the largest such size, 0 if there is none."""

    changes: int
    below: int
    above: int
    at: float | None = None
    low: float | None = None
    high: float | None = None


def crossing(
    sizes: Sequence[float], logs: Sequence[Sequence[float]], confidence: float
) -> Crossing:
    """Where the mean over replicates of `logs` (replicates, sizes), interpolated linearly in the
    logarithm of the size, is 0.

    The interval holds the sizes at which Student's test of the interpolated logarithms does not
    reject 0 (Fieller's way, which needs no slope), between the last size before the change and the
    first one after it. Two replicates at least; `sizes` from small to large.
    """
    values, places = np.asarray(logs, dtype=float), np.log(np.asarray(sizes, dtype=float))
    _, _, low, high, _ = students(values.T, confidence)
    signs = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    decided = np.flatnonzero(signs)
    if not decided.size:
        return Crossing(0, 0, 0)
    found = signs[decided]
    turning = np.flatnonzero(np.diff(found))
    below, above = int(found[0]), int(found[-1])
    if turning.size != 1:
        return Crossing(int(turning.size), below, above)
    first, last = decided[turning[0]], decided[turning[0] + 1]
    fine = np.concatenate([
        np.linspace(places[left], places[left + 1], STEPS, endpoint=False)
        for left in range(first, last)
    ] + [places[last : last + 1]])  # fmt: skip
    between = np.array([np.interp(fine, places, own) for own in values])
    mean, _, under, over, _ = students(between.T, confidence)
    accepted = fine[(under <= 0) & (over >= 0)]
    zeros = fine[np.flatnonzero(np.diff(np.sign(mean)))]
    at = float(zeros[len(zeros) // 2])
    ends = (float(accepted.min()), float(accepted.max())) if accepted.size else (at, at)
    return Crossing(1, below, above, math.exp(at), math.exp(ends[0]), math.exp(ends[1]))

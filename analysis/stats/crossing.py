"""Where a ratio that depends on a size crosses 1, with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.inference import holm, students

STEPS = 200  # between two neighbouring sizes


@dataclass(frozen=True)
class Crossing:
    """`decided` counts the sizes whose ratio differs significantly from 1 (Holm over all sizes),
    and `changes` how often the sign of its logarithm changes from one of these to the next. With
    one change, the ratio crosses 1 `at` a size between `low` and `high`; otherwise all three are
    None. `below` and `above` are the signs at the smallest and the largest decided size, 0 without
    any."""

    changes: int
    below: int
    above: int
    decided: int
    at: float | None = None
    low: float | None = None
    high: float | None = None


def crossing(
    sizes: Sequence[float], logs: Sequence[Sequence[float]], confidence: float
) -> Crossing:
    """Where the mean over replicates of `logs` (replicates, sizes), interpolated linearly in the
    logarithm of the size, is 0. It takes two replicates at least, and `sizes` from small to large.

    The interval holds the sizes at which Student's test of the interpolated logarithms does not
    reject 0 (Fieller's method, without a slope). It lies between the decided sizes on both sides
    of the change.
    """
    values, places = np.asarray(logs, dtype=float), np.log(np.asarray(sizes, dtype=float))
    mean, _, _, _, p = students(values.T, confidence)
    decided = np.flatnonzero(np.array(holm(p.tolist())) <= 1 - confidence)
    if not decided.size:
        return Crossing(0, 0, 0, 0)
    found = np.sign(mean[decided])
    turning = np.flatnonzero(np.diff(found))
    ends = (int(found[0]), int(found[-1]), int(decided.size))
    if turning.size != 1:
        return Crossing(int(turning.size), *ends)
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
    reach = (float(accepted.min()), float(accepted.max())) if accepted.size else (at, at)
    return Crossing(1, *ends, math.exp(at), math.exp(reach[0]), math.exp(reach[1]))


def zeros(
    sizes: Sequence[float], logs: Sequence[Sequence[float]], at: float
) -> NDArray[np.float64]:
    """The logarithm of each replicate's own crossing, if the mean of `logs` crosses 1 `at` a size:
    by the slope of the mean there (delta method), so that its mean is the logarithm of `at`."""
    values, places = np.asarray(logs, dtype=float), np.log(np.asarray(sizes, dtype=float))
    right = int(np.clip(np.searchsorted(places, math.log(at)), 1, len(places) - 1))
    rise = np.diff(values.mean(axis=0))[right - 1] / np.diff(places)[right - 1]
    there = np.array([np.interp(math.log(at), places, own) for own in values])
    return np.asarray(math.log(at) - there / rise)

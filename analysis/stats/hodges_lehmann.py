"""How far apart two contenders are in one contest.

Mini-batches are arrays whose last two axes are rounds and places in the round; a place without a
steady mini-batch is NaN. The report, the simulation and the benchmarks all call `hodges_lehmann`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def by_round(values: Floats, rounds: NDArray[np.integer[Any]]) -> Floats:
    """Values of one process in the order of their rounds, (n,), as (rounds, places); the first
    axis is the number of the round, from 0."""
    counts = np.bincount(rounds, minlength=1)
    found = np.full((len(counts), counts.max(initial=0)), np.nan, values.dtype)
    order = np.argsort(rounds, kind="stable")
    rounds = rounds[order]
    found[rounds, np.arange(len(rounds)) - np.searchsorted(rounds, rounds)] = values[order]
    return found


def hodges_lehmann(one: Floats, other: Floats) -> Floats:
    """The median of all differences between a value of one side and a value of the other in the
    same round, over the rounds that both sides have; NaN if they share none.

    Hodges and Lehmann 1963, "Estimates of location based on rank tests", for two samples, with
    rounds as strata. Interference that both sides felt in a round cancels. If times jump between
    two levels, as on a busy host, this median moves little, but a ratio of medians jumps with
    them (docs/noise.md).

    Args:
        one, other: (..., rounds, places); places and the number of rounds may differ.

    Returns:
        (...)
    """
    shared = min(one.shape[-2], other.shape[-2])
    apart = one[..., :shared, :, None] - other[..., :shared, None, :]
    return median(apart.reshape(*apart.shape[:-3], -1))


def median(values: Floats) -> Floats:
    """Medians along the last axis without the NaNs; NaN if nothing else is there."""
    if not np.isnan(values).any():
        found: Floats = np.median(values, axis=-1) if values.shape[-1] else values.sum(-1) + np.nan
        return found
    ordered = np.sort(values, axis=-1)  # NaNs last
    count = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, np.maximum(place, 0), axis=-1)[..., 0]
        for place in ((count - 1) // 2, np.minimum(count // 2, values.shape[-1] - 1))
    )
    middle: Floats = (low + high) / 2
    return middle

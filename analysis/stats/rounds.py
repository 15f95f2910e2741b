"""Arrays of mini-batches whose last two axes are rounds and places in the round.

A place without a steady mini-batch is NaN.
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


def median(values: Floats) -> Floats:
    """Medians along the last axis, without NaNs; NaN if there is no number."""
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

"""How far apart two contenders are in one contest."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def hodges_lehmann(rounds: Iterable[tuple[Floats, Floats]]) -> float:
    """The median of all differences between a value of one side and a value of the other in the
    same round (Hodges and Lehmann 1963, "Estimates of location based on rank tests", for two
    samples; rounds are strata). `rounds` has both sides' values of each, at least one in all.

    What both sides felt in a round drops out. Where times jump between two levels, as on a busy
    host, it moves little, when a ratio of medians jumps with them (docs/noise.md).
    """
    return float(np.median(np.concatenate([differences(*sides).ravel() for sides in rounds])))


def differences(one: Floats, other: Floats) -> Floats:
    """Each value of one side less each of the other, along the last axis: (..., n) and (..., m)
    to (..., n, m)."""
    found: Floats = one[..., :, None] - other[..., None, :]
    return found

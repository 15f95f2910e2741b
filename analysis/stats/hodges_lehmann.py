"""How far apart two contenders are in one contest."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def by_round(values: Floats, rounds: NDArray[np.integer]) -> dict[int, Floats]:
    """Values along one axis, an array for the number of each round."""
    return {int(number): values[rounds == number] for number in np.unique(rounds)}


def hodges_lehmann(one: Mapping[int, Floats], other: Mapping[int, Floats]) -> float | None:
    """The median of all differences between a value of one side and a value of the other in the
    same round (Hodges and Lehmann 1963, "Estimates of location based on rank tests", for two
    samples; rounds are strata), over the rounds that both sides have; None where there is none.

    What both sides felt in a round drops out. Where times jump between two levels, as on a busy
    host, it moves little, when a ratio of medians jumps with them (docs/noise.md).
    """
    shared = one.keys() & other.keys()
    if not shared:
        return None
    apart = [differences(one[number], other[number]).ravel() for number in shared]
    return float(np.median(np.concatenate(apart)))


def differences(one: Floats, other: Floats) -> Floats:
    """Each value of one side less each of the other, along the last axis: (..., n) and (..., m)
    to (..., n, m)."""
    found: Floats = one[..., :, None] - other[..., None, :]
    return found

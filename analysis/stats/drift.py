"""Whether times change during a contest, from the first to the last third of its rounds."""

from collections.abc import Collection

import numpy as np

from analysis.stats.rounds import Floats, median

OTHERS = 2  # the fewest that a contender is compared with; with one, either of the two may drift


def change(logs: Floats) -> Floats:
    """The median over the last third of the rounds minus the median over the first third.

    Args:
        logs: (..., rounds, places), logarithms of times; NaN in places without a mini-batch.

    Returns:
        (...); NaN with fewer than two rounds, or if a third has no mini-batch. Thirds are rounded
        up to whole rounds: 3 of 8.
    """
    rounds = logs.shape[-2]
    if rounds < 2:
        return np.full(logs.shape[:-2], np.nan)
    third = -(-rounds // 3)
    ends = (logs[..., -third:, :], logs[..., :third, :])
    last, first = (median(end.reshape(*end.shape[:-2], -1)) for end in ends)
    return last - first


def alone(changes: Floats, counted: Collection[int]) -> Floats:
    """How much each contender changed beyond the median of the others in its contest, so that a
    change of the machine cancels.

    Args:
        changes: (contests, contenders), logarithms; NaN for a contender that is not there.
        counted: the places of contenders that count as others.

    Returns:
        The same shape; NaN with fewer than `OTHERS` others.
    """
    found = np.full(changes.shape, np.nan)
    for place in range(changes.shape[1]):
        others = changes[:, [one for one in counted if one != place]]
        enough = (~np.isnan(others)).sum(axis=1) >= OTHERS
        if enough.any():
            found[enough, place] = changes[enough, place] - median(others[enough])
    return found

"""How much timed float32 turns may be off after their first steps.

A network magnifies rounding from step to step, some by much. So from a step on, a turn is allowed
so many times what the framework in the middle is off by until then. If that is too much, nothing is
compared. A framework counts once, as its contender in the middle, because several may share a
mistake.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId

LONG = 10  # steps, for which all limits are known beforehand
GROWN = 10  # times the framework in the middle; of an even number the better one
CHAOS = 0.3  # the most that is allowed


class Away(NamedTuple):
    """How far a tensor is from float64 after a turn: the median error over its median move, the
    share of its numbers that are more than a tenth of that away, and the mean error, of which none
    counts more than 1."""

    typical: float
    off: float
    mean: float = 0.0


def widened(table: pd.DataFrame) -> pd.DataFrame:
    """Mini-batches with more room (`allowed`) in late steps, without those that are not compared.

    `place` is a step in its turn, `off` how far its loss is off. In a part of a step nothing grows
    (`still`).
    """
    late = (table["place"] >= LONG) & ~table["still"]
    parts = [table[~late]]
    for _, rows in table[late].groupby(["workload", "round"]):
        places = np.unique(rows["place"])
        curves = (
            [until(own, places) for _, own in same.groupby(COLUMNS)]
            for _, same in rows.groupby("framework")
        )
        room = GROWN * with_one_vote_each(curves)[places.searchsorted(rows["place"])]
        rows = rows.assign(allowed=rows["allowed"].clip(lower=room))
        parts.append(rows[room <= CHAOS])
    return pd.concat(parts).sort_index()


def until(own: pd.DataFrame, places: np.ndarray) -> np.ndarray:
    """The most that one contender's losses are off by, up to each of these steps, or to the next
    step that is kept of a long turn."""
    seen = own.groupby("place")["off"].max().cummax()
    before = np.minimum(seen.index.searchsorted(places, side="left") + 1, len(seen))
    return np.append(0.0, seen.to_numpy())[before]


def middle(values: np.ndarray) -> np.ndarray:
    """The median along the first axis; of an even number, the smaller one of the middle two."""
    found: np.ndarray = np.sort(values, axis=0)[(len(values) - 1) // 2]
    return found


def with_one_vote_each(frameworks: Iterable[Sequence[ArrayLike]]) -> np.ndarray:
    """The middle of the frameworks, each of which has the middle of its contenders."""
    return middle(np.stack([middle(np.stack(own)) for own in frameworks]))


def room_of_weights(
    tensors: Mapping[BenchmarkId, dict[str, Away]],
) -> dict[str, tuple[float, float]]:
    """The room that weights have after a long turn by tensor, from what all contenders have left;
    without tensors that are not compared."""
    every: dict[str, dict[str, list[Away]]] = {}
    for one, own in tensors.items():
        for name, found in own.items():
            every.setdefault(name, {}).setdefault(one.framework, []).append(found)
    room = {name: GROWN * with_one_vote_each(found.values()) for name, found in every.items()}
    return {name: (typical, off) for name, (typical, off, _) in room.items() if typical <= CHAOS}

"""How much timed float32 turns may be off after their first steps.

A network magnifies rounding from step to step. So from step `LONG` on, a turn may be off by `GROWN`
times what the median framework is off by until then. If that is more than `CHAOS`, nothing is
compared. A framework counts once, with its median contender, because its contenders may share a
mistake.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId

LONG = 10  # steps with limits that are known beforehand
GROWN = 10  # times the median framework; of an even number, the better of the middle two
CHAOS = 0.3  # the most that is allowed


class Away(NamedTuple):
    """How far a tensor is from float64 after a turn: the median error over the tensor's median
    move, the share of numbers that are off by more than a tenth of that move, and the mean error,
    in which no number counts more than 1."""

    typical: float
    off: float
    mean: float = 0.0


def widened(table: pd.DataFrame) -> pd.DataFrame:
    """Mini-batches with a wider limit (`allowed`) in late steps, without those that cannot be
    compared. `place` is the step in its turn, and `off` how far its loss is off. In a part of a
    step nothing grows (`still`)."""
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
    """The most that one contender's losses are off by up to each of these steps; up to the next
    row if a long turn was condensed."""
    seen = own.groupby("place")["off"].max().cummax()
    before = np.minimum(seen.index.searchsorted(places, side="left") + 1, len(seen))
    return np.append(0.0, seen.to_numpy())[before]


def middle(values: np.ndarray) -> np.ndarray:
    """The median along the first axis; of an even number, the smaller one of the middle two."""
    found: np.ndarray = np.sort(values, axis=0)[(len(values) - 1) // 2]
    return found


def with_one_vote_each(frameworks: Iterable[Sequence[ArrayLike]]) -> np.ndarray:
    """The `middle` of all frameworks, each represented by the `middle` of its contenders."""
    return middle(np.stack([middle(np.stack(own)) for own in frameworks]))


def room_of_weights(
    tensors: Mapping[BenchmarkId, dict[str, Away]],
) -> dict[str, tuple[float, float]]:
    """By tensor, the limits of weights after a long turn (typical error, share far away), from the
    errors of all contenders; without tensors that cannot be compared."""
    every: dict[str, dict[str, list[Away]]] = {}
    for one, own in tensors.items():
        for name, found in own.items():
            every.setdefault(name, {}).setdefault(one.framework, []).append(found)
    room = {name: GROWN * with_one_vote_each(found.values()) for name, found in every.items()}
    return {name: (typical, off) for name, (typical, off, _) in room.items() if typical <= CHAOS}

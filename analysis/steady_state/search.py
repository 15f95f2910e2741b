"""The search for steady state over arrays, which the report and the simulation both call."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.robust.scale import qn_scale

from analysis.stats.rounds import Floats, median
from analysis.steady_state.changepoints import Scatter, Series, scatter
from analysis.steady_state.classify import MATTERS, Kind, detect

OTHERS = 3  # with fewer, a single one could move the median
NONE: Kind = "no steady state"
SLOWDOWN: Kind = "slowdown"


class Trace(NamedTuple):
    """One process. `series`: logarithms of times, all of round 0 and the settled ones of each
    turn; `steps`: the places of these mini-batches in the process."""

    series: Series
    steps: Series
    rounds: Series


class Search(NamedTuple):
    """The steady state of one contender's processes. `starts`: the step from which each is steady;
    NaN if it never is, or if only this process slowed down."""

    kinds: list[Kind]
    starts: Series

    @property
    def begun(self) -> Series:
        """The step from which each process counts: its own start, or the median of the others'
        if it has none, 0 if no process has one."""
        known = self.starts[~np.isnan(self.starts)]
        return np.where(np.isnan(self.starts), np.median(known) if len(known) else 0, self.starts)


def search(processes: Sequence[Trace]) -> Search:
    """Search the processes of one contender."""
    noise = scatter_of(processes)
    found = [detect(process.series, MATTERS, noise) for process in processes]
    kinds = [one.kind for one in found]
    # if most of the contender's processes did not slow down, the machine did
    alone = 2 * kinds.count(SLOWDOWN) <= len(kinds)
    missing = {NONE, SLOWDOWN} if alone else {NONE}
    starts = [
        np.nan if one.kind in missing else process.steps[one.start]
        for one, process in zip(found, processes, strict=True)
    ]
    return Search(kinds, np.array(starts, float))


def scatter_of(processes: Sequence[Trace]) -> Scatter | None:
    """The scatter of mini-batches, from all processes of a contender together: differences of
    neighbours within turns, and of neighbouring turns' medians. None if there are too few."""
    near, far, size = [], [], 1
    for process in processes:
        numbers = np.unique(process.rounds[process.rounds > 0])
        turns = [process.series[process.rounds == number] for number in numbers]
        near += [np.diff(turn) for turn in turns]
        far.append(np.diff([np.median(turn) for turn in turns]))
        size = max([size, *map(len, turns)])
    within = np.concatenate(near) if near else np.empty(0)
    between = np.concatenate(far) if far else np.empty(0)
    if min(len(within), len(between)) < 4:
        return None
    return scatter(within, float(qn_scale(between)) / np.sqrt(2), size)


def shared_by_others(turns: Floats, counted: Collection[int]) -> NDArray[np.float64]:
    """How much slower each round was than the contest as a whole, measured on the other contenders
    of the same cores: the median over them. A contender's own changes are not in it.

    Args:
        turns: logarithms of turns' medians, (contests, contenders, rounds); NaN if there is none.
        counted: the contenders whose turns count; controls do not, because several share a process.

    Returns:
        The same shape; 0 for rounds with fewer than `OTHERS` others.
    """
    departures = turns - median(turns)[..., None]
    found = np.zeros(turns.shape)
    for contender in range(turns.shape[1]):
        others = departures[:, [one for one in counted if one != contender]].swapaxes(1, 2)
        enough = (~np.isnan(others)).sum(axis=-1) >= OTHERS
        if enough.any():
            found[:, contender] = np.where(enough, median(others), 0.0)
    return found

"""What the search for steady state looks at: each process's mini-batches in order, without the
weather that it shared with the others of its contest."""

from collections.abc import Collection, Iterator
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from statsmodels.robust.scale import qn_scale

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, keyed
from analysis.steady_state.changepoints import Scatter, Series, scatter

OTHERS = 3  # fewer have no median that one of them could not move


class Trace(NamedTuple):
    """`series`: logarithms of times, all of round 0 and the settled ones of each turn; `steps`:
    which mini-batches of the process they are."""

    series: Series
    steps: Series
    rounds: Series


def traces(
    batches: pd.DataFrame, controls: Collection[tuple[str, str]] = ()
) -> Iterator[tuple[BenchmarkId, dict[int, Trace], Scatter | None]]:
    """The processes of each seat by replicate, and the scatter of their mini-batches; None
    where there are too few to say. `controls` by framework and variant."""
    chosen = batches[~batches["warmup"] | (batches["round"] == 0)].sort_values("step")
    chosen = chosen.assign(log=np.log(chosen["ms"]) - shared_by_others(batches, controls))
    for key, rows in chosen.groupby(COLUMNS):
        workload, framework, variant, device, threads = cast("tuple[str, str, str, str, int]", key)
        found = {
            int(cast("int", replicate)): Trace(
                *(own[name].to_numpy() for name in ("log", "step", "round"))
            )
            for replicate, own in rows.groupby("replicate")
        }
        yield BenchmarkId(workload, framework, variant, device, int(threads)), found, noise(found)


def shared_by_others(
    batches: pd.DataFrame, controls: Collection[tuple[str, str]]
) -> "pd.Series[float]":
    """How much slower its round was than the contest as a whole, in logarithms: of each
    mini-batch the median over the other contenders with as many threads on the same device,
    which share its cores. A contender's own changes are not in it, nor are controls, several of
    which are one process. 0 in the warm-up round, and where there are not enough others."""
    contest = ["workload", "replicate", "device", "threads"]
    steady = batches[~batches["warmup"] & (batches["round"] > 0)]
    steady = steady[~keyed(steady).isin(list(controls))]
    logs = np.log(steady["ms"]).groupby([steady[k] for k in (*contest, "contender", "round")])
    rounds = logs.median().unstack("contender")
    levels = rounds.groupby(contest).transform("median")
    departures = rounds - levels
    factors = {
        name: others.median(axis=1).where(others.notna().sum(axis=1) >= OTHERS, 0.0)
        for name in batches["contender"].unique()
        for others in [departures.drop(columns=name, errors="ignore")]
    }
    keys = pd.MultiIndex.from_frame(batches[[*contest, "round", "contender"]])
    table = pd.DataFrame(factors).stack() if factors else pd.Series(dtype=float)
    return pd.Series(table.reindex(keys).fillna(0.0).to_numpy(), index=batches.index)


def noise(found: dict[int, Trace]) -> Scatter | None:
    """Of all processes of a contender together: differences of neighbours within turns, and of
    neighbouring turns' medians."""
    near, far, size = [], [], 1
    for trace in found.values():
        dealt = trace.rounds > 0
        turns = [trace.series[trace.rounds == k] for k in np.unique(trace.rounds[dealt])]
        near += [np.diff(turn) for turn in turns]
        far.append(np.diff([np.median(turn) for turn in turns]))
        size = max([size, *map(len, turns)])
    within = np.concatenate(near) if near else np.empty(0)
    between = np.concatenate(far) if far else np.empty(0)
    if min(len(within), len(between)) < 4:
        return None
    return scatter(within, float(qn_scale(between)) / np.sqrt(2), size)

"""The series that the search for steady state looks at: each process's mini-batches in order,
without the interference that it shares with its contest's other contenders."""

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS, grid, identity
from analysis.data.results import BenchmarkId, keyed
from analysis.stats.rounds import median
from analysis.steady_state.search import Trace, shared_by_others


def traces(
    batches: pd.DataFrame, controls: Collection[tuple[str, str]] = ()
) -> Iterator[tuple[BenchmarkId, dict[int, Trace]]]:
    """The processes of each benchmark by replicate. `controls` by framework and variant."""
    chosen = batches[~batches["warmup"] | (batches["round"] == 0)].sort_values("step")
    chosen = chosen.assign(log=np.log(chosen["ms"]) - interference(batches, controls))
    for key, rows in chosen.groupby(COLUMNS):
        yield (
            identity(key),
            {
                int(str(replicate)): Trace(
                    *(own[name].to_numpy(float) for name in ("log", "step", "round"))
                )
                for replicate, own in rows.groupby("replicate")
            },
        )


def interference(
    batches: pd.DataFrame, controls: Collection[tuple[str, str]]
) -> "pd.Series[float]":
    """How much longer each mini-batch's round took than its contest as a whole, in logarithms. It
    is measured on the other contenders with as many threads on the same device, because they share
    its cores. 0 in the warm-up round."""
    found = pd.Series(0.0, index=batches.index)
    for _, rows in batches.groupby(["workload", "device", "threads"]):
        steady = rows[~rows["warmup"] & (rows["round"] > 0)]
        if steady.empty:
            continue
        who, when = pd.Index(rows["contender"].unique()), pd.Index(rows["replicate"].unique())
        own = steady.groupby(["replicate", "contender"]).size().index
        logs = grid(steady, ["replicate", "contender"])
        turns = np.full((len(when), len(who), int(rows["round"].max()) + 1), np.nan)
        replicate, contender = (own.get_level_values(level) for level in (0, 1))
        places = when.get_indexer(replicate), who.get_indexer(contender)
        turns[*places, : logs.shape[1]] = median(logs)
        controlled = set(rows.loc[keyed(rows).isin(list(controls)), "contender"])
        counted = [place for place, name in enumerate(who) if name not in controlled]
        shared = shared_by_others(turns, counted)
        found.loc[rows.index] = shared[
            when.get_indexer(rows["replicate"]),
            who.get_indexer(rows["contender"]),
            rows["round"].to_numpy(),
        ]
    return found

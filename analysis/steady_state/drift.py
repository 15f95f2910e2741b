"""Whether steady state is steady: the second half of each turn compared with the first."""

import math
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, Machine
from analysis.stats.inference import holm, student


class Drift(NamedTuple):
    """How much longer the second half of a turn's steady mini-batches took, minus 1."""

    id: BenchmarkId
    size: float
    p_adjusted: float


def drifts(machine: Machine, batches: pd.DataFrame) -> list[Drift]:
    """The drift of every contender with at least two replicates. Turns are averaged within a
    replicate, and p-values are corrected by Holm's method over all contenders."""
    steady = batches[~batches["warmup"]].sort_values("step")
    turns = [*COLUMNS, "replicate", "round"]
    place = steady.groupby(turns).cumcount()
    half = steady.groupby(turns)["step"].transform("size") // 2
    logs = np.log(steady["ms"])
    keys = [steady[name] for name in turns]
    # the middle mini-batch of an odd number is in the second half; a single one has no first
    early = logs.where(place < half).groupby(keys).mean()
    late = logs.where(place >= half).groupby(keys).mean()
    by_replicate = (late - early).dropna().groupby(turns[:-1]).mean()
    found, p = [], []
    for key, values in by_replicate.groupby(COLUMNS):
        estimate = student(values.tolist(), machine.study.confidence)
        if estimate.p is not None:
            p.append(estimate.p)
            found.append(Drift(BenchmarkId(*cast("Any", key)), math.expm1(estimate.mean), 1.0))
    return [
        drift._replace(p_adjusted=adjusted) for drift, adjusted in zip(found, holm(p), strict=True)
    ]

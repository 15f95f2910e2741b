"""How much the log-ratios of a contender with itself scatter, by the way it was run."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from analysis.stats import estimator
from analysis.stats.rounds import by_round

SETTLE = 2  # first mini-batches of a turn that do not count, as in a study
CONFIDENCE = 0.95


class Scatter(NamedTuple):
    """How the log-ratios of `pairs` pairs scatter, each of the process started second to the first.

    `sd` with its interval by chi-square; `mean` with Student's. `between` and `within` are
    standard deviations too: of what stays the same through a pair's life, and of one turn's
    paired log-ratio (one-way analysis of variance over pairs; 0 if turns explain it all).
    `time` is the median mini-batch over the median in the way compared with.
    """

    pairs: int
    sd: float
    sd_low: float
    sd_high: float
    mean: float
    mean_low: float
    mean_high: float
    between: float
    within: float
    time: float


Statistic = Callable[["pd.Series[float]"], float]
STATISTICS: dict[str, Statistic] = {
    "median": lambda ms: float(ms.median()),
    "mean": lambda ms: float(ms.mean()),
    "mean of the middle half": lambda ms: float(stats.trim_mean(ms, 0.25)),
    "lower quartile": lambda ms: float(ms.quantile(0.25)),
    "least": lambda ms: float(ms.min()),
}


def steady(rows: pd.DataFrame, settle: int = SETTLE) -> pd.DataFrame:
    return rows[(rows["round"] > 0) & (rows["place"] >= settle)]


def log_ratios(
    rows: pd.DataFrame, statistic: Statistic, settle: int = SETTLE
) -> "pd.Series[float]":
    """The log-ratio of each replicate, from all its steady mini-batches together."""
    found = steady(rows, settle).groupby(["replicate", "side"])["ms"].agg(statistic)
    sides = np.log(found).unstack("side")
    return sides[1] - sides[0]


def by_turn(rows: pd.DataFrame, settle: int = SETTLE) -> "pd.Series[float]":
    """The median over rounds of the log-ratio of a round's two medians: what was the same
    for both while a round lasted drops out."""
    return paired(rows, settle).groupby("replicate").median()


def by_batch(rows: pd.DataFrame, settle: int = SETTLE) -> "pd.Series[float]":
    """Hodges and Lehmann's estimate, as the report has it, of pairs of mini-batches in a round."""
    pairs = steady(rows, settle).groupby("replicate")
    return pd.Series({replicate: log_ratio(pair) for replicate, pair in pairs})


def log_ratio(pair: pd.DataFrame) -> float:
    """The log-ratio of a pair's second side to its first, from its steady mini-batches."""
    first, second = (
        by_round(np.log(own["ms"].to_numpy(float)), own["round"].to_numpy())
        for _, own in pair.groupby("side")
    )
    return float(estimator.log_ratio(second, first))


def paired(rows: pd.DataFrame, settle: int = SETTLE) -> "pd.Series[float]":
    """The log-ratio of the two turns of each round."""
    found = steady(rows, settle).groupby(["replicate", "round", "side"])["ms"].median()
    sides = np.log(found).unstack("side")
    return sides[1] - sides[0]


def scatter(logs: "pd.Series[float]", turns: "pd.Series[float]", time: float) -> Scatter:
    n, sd, mean = len(logs), float(logs.std(ddof=1)), float(logs.mean())
    tail = (1 - CONFIDENCE) / 2
    low, high = (sd * math.sqrt((n - 1) / stats.chi2.isf(p, n - 1)) for p in (tail, 1 - tail))
    half = stats.t.isf(tail, n - 1) * sd / math.sqrt(n)
    between, within = components(turns)
    return Scatter(n, sd, low, high, mean, mean - half, mean + half, between, within, time)


def components(turns: "pd.Series[float]") -> tuple[float, float]:
    groups = turns.groupby("replicate")
    within = float(groups.var(ddof=1).mean())
    rounds = float(groups.size().mean())
    between = float(groups.mean().var(ddof=1)) - (within / rounds if rounds > 1 else 0.0)
    return math.sqrt(max(between, 0.0)), math.sqrt(within) if rounds > 1 else float("nan")

"""Statistics of a series of studies, over plain arrays. The unit of a series is a study or an
occasion, never a replicate: replicates of one hour say nothing about another hour."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.stats.inference import SAME
from analysis.stats.rounds import Floats
from analysis.stats.tails import t_above, t_exceeded

ORDERS = 2000  # random permutations: a p of 0.05 is then known to within 0.005


def prediction(values: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """`predictions` of one series; None with fewer than two values."""
    if len(values) < 2:
        return None
    low, high = predictions(np.asarray(values, dtype=float), confidence)
    return float(low), float(high)


def predictions(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Student's interval for the next value of the same kind: wider than that of the mean by the
    scatter of one value.

    Args:
        values: (values, ...), two of them at least along the first axis.

    Returns:
        Both ends, (...).
    """
    n = len(values)
    middle, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
    half = t_exceeded((1 - confidence) / 2, n - 1) * sd * math.sqrt(1 + 1 / n)
    return middle - half, middle + half


def captured_by_chance(n: int, other: int, confidence: float) -> float:
    """Probability that the interval of a study with `n` replicates contains the estimate of
    another with `other` replicates, if both have one mean and one variance."""
    reach = t_exceeded((1 - confidence) / 2, n - 1) / math.sqrt(1 + n / other)
    return 1 - 2 * t_above(reach, n - 1)


def mean_f(values: Floats, labels: NDArray[np.integer[Any]]) -> Floats:
    """Fisher's F of a one-way analysis of variance, averaged over rows.

    Args:
        values: (contests, rows), NaN if a contest has no value.
        labels: (..., contests): the number of each contest's study.

    Returns:
        (...). Rows without scatter, or with a value in one study alone, are left out.
    """
    there = ~np.isnan(values)
    number = there.sum(axis=0)
    middle = np.where(there, values, 0.0).sum(axis=0) / np.maximum(number, 1)
    centred = np.where(there, values - middle, 0.0)
    members = labels[..., None, :] == np.arange(labels.max() + 1)[:, None]  # (..., studies, n)
    counts = members.astype(float) @ there.astype(float)
    sums = members.astype(float) @ centred
    studies = (counts > 0).sum(axis=-2)
    between = (sums**2 / np.maximum(counts, 1)).sum(axis=-2)
    within = (centred**2).sum(axis=0) - between
    known = (studies > 1) & (number > studies) & (within > SAME**2)
    ratio = (between / np.maximum(studies - 1, 1)) / np.where(
        known, within / np.maximum(number - studies, 1), 1.0
    )
    found: Floats = np.where(known, ratio, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1)
    return found


def permuted(
    values: Floats, labels: NDArray[np.integer[Any]], orders: int = ORDERS, seed: int = 1
) -> tuple[float, float]:
    """`mean_f`, and its p-value: the share of permutations of whole contests over studies in which
    it is as large, counting the observed order. All rows of a contest move together, so it does
    not matter that they share a reference."""
    random = np.random.default_rng(seed)
    shuffled = random.permuted(np.tile(labels, (orders, 1)), axis=1)
    seen = float(mean_f(values, labels))
    larger = int((mean_f(values, shuffled) >= seen - SAME).sum())
    return seen, (larger + 1) / (orders + 1)


def share_of_line(
    values: Floats, speeds: Floats, groups: NDArray[np.integer[Any]]
) -> tuple[float, float] | None:
    """The share of the variance within groups that one straight line per row explains, and the
    share that a line explains by chance.

    Args:
        values, speeds: (rows, studies), finite.
        groups: (studies,). With one group, it is the variance between all studies.

    Returns:
        None with fewer than three more studies than groups, or without variance.
    """
    member = groups[:, None] == np.unique(groups)
    means = member / member.sum(axis=0)
    y = values - values @ means @ member.T
    x = speeds - speeds @ means @ member.T
    free = len(groups) - member.shape[1]
    total, across = float((y**2).sum()), (x**2).sum(axis=1)
    if free < 3 or total < SAME or (across < SAME).any():
        return None
    return float(((x * y).sum(axis=1) ** 2 / across).sum()) / total, 1 / free


def same_truth(
    mean: float, errors: tuple[float, float], replicates: tuple[int, int], confidence: float
) -> tuple[float, float]:
    """Where another study's mean is expected if both studies have the same true mean.

    Args:
        mean: of this study.
        errors: standard errors of this study's mean and of the other's.
        replicates: of each, two at least.

    Returns:
        Both ends, with Welch and Satterthwaite's degrees of freedom.
    """
    variances = [error**2 for error in errors]
    total = sum(variances)
    if total < SAME**2:
        return mean, mean
    parts = [v**2 / (n - 1) for v, n in zip(variances, replicates, strict=True)]
    half = t_exceeded((1 - confidence) / 2, total**2 / sum(parts)) * math.sqrt(total)
    return mean - half, mean + half

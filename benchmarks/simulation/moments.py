"""Moments and quantiles of logarithms of times, from which the noise model is fitted."""

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from benchmarks.simulation.noise import NORMAL

Floats = NDArray[np.float64]
WILDEST = 1.5  # fewest degrees of freedom that are told from so few values


def scale(values: Floats) -> float:
    return 1.4826 * float(np.nanmedian(np.abs(values)))


def root(square: float) -> float:
    """Of an estimated variance, which may come out below zero where the true one is small."""
    return float(np.sqrt(max(square, 0.0)))


def parted(values: Floats) -> tuple[Floats, Floats]:
    """What is each contender's own, and what all share: the median over contenders (axis 0), if
    there are three. Own parts have the shared one's error in them and have lent it theirs, so
    they are scaled back: of `n` normal values the median's variance is about
    `m = pi / (2 n + pi - 2)`, and that of a value without the median `1 + m - 2 / n`."""
    count = len(values)
    if count < 3:
        return values, np.zeros(values.shape[1:])
    shared = np.median(values, axis=0)
    error = np.pi / (2 * count + np.pi - 2)
    return (values - shared) / np.sqrt(1 + error - 2 / count), shared


def centred(means: Floats) -> Floats:
    return means - np.median(means, axis=-1, keepdims=True)


def differences(values: Floats, lag: int) -> Floats:
    return values[..., lag:] - values[..., :-lag]


def tails(values: Floats) -> float:
    """Degrees of freedom of the Student's t whose 95 % and 50 % quantiles of the absolute value
    have the ratio of those of `values`."""
    inside, outside = np.nanquantile(np.abs(values), [0.5, 0.95])

    def above(freedom: float) -> float:
        ratio = float(stats.t.ppf(0.975, freedom) / stats.t.ppf(0.75, freedom))
        return ratio - float(outside / inside)

    if inside == 0 or above(WILDEST) < 0:
        return WILDEST
    return NORMAL if above(NORMAL) > 0 else float(optimize.brentq(above, WILDEST, NORMAL))


def drift(means: Floats, slots: Floats) -> float:
    """Step per turn of the walk that all share: the products of two contenders' differences
    from one round to the next, over the turns that both differences span. Contenders weigh by
    the inverse square of their scale, and differences are cut at three scales."""
    change = np.diff(means, axis=2)
    scales = np.array([max(scale(own), 1e-9) for own in change])[:, None, None]
    change = np.clip(change, -3 * scales, 3 * scales)
    weights = 1 / scales**2
    begin, end = slots[..., :-1], slots[..., 1:]
    product = spanned = 0.0
    for one in range(len(change)):
        for other in range(one):
            weight = weights[one] * weights[other]
            common = np.minimum(end[one], end[other]) - np.maximum(begin[one], begin[other])
            spanned += float((weight * np.maximum(common, 0)).sum())
            product += float((weight * change[one] * change[other] * (common > 0)).sum())
    return root(product / spanned) if spanned else 0.0


def semivariances(means: Floats) -> Floats:
    """By rounds apart, from 1: half the squared scale of differences of turns."""
    return np.array([scale(differences(means, lag)) ** 2 / 2 for lag in lags(means)])


def lags(means: Floats) -> range:
    """Up to half the rounds, as few pairs are further apart."""
    return range(1, max(means.shape[-1] // 2, 2) + 1)


def persistence(means: list[Floats]) -> float:
    """Probability that a level lasts from one round to the next, for all contenders: the best
    fit of `turn^2 + shift^2 (1 - persistence^l)` to their semivariances, each over its mean."""
    curves = [semivariances(own) for own in means]
    shortest = min(map(len, curves))
    curve = np.mean([own[:shortest] / max(own.mean(), 1e-12) for own in curves], axis=0)
    grid = np.arange(0.3, 0.86, 0.01)
    return float(min(grid, key=lambda stay: split(curve, stay)[1]))


def split(curve: Floats, staying: float) -> tuple[Floats, float]:
    """Least squares without negative parts: `turn^2` and `shift^2`, and what is left over."""
    lost = 1 - staying ** np.arange(1, len(curve) + 1)
    parts, rest = optimize.nnls(np.column_stack([np.ones(len(curve)), lost]), curve)
    return parts, float(rest)


def lasting(
    means: Floats, staying: float, batch: float, keep: float, places: int
) -> tuple[float, float]:
    """Scales of turn and shift. A turn's mean has the noise of its mini-batches in it."""
    (turn, shift), _ = split(semivariances(means), staying)
    between = np.abs(np.subtract.outer(np.arange(places), np.arange(places)))
    return root(turn - batch**2 * float((keep**between).mean())), root(shift)


def settled(turn: float, shift: float, staying: float, rounds: int) -> float:
    """Variance that turns and shifts leave in the mean of a process."""
    between = np.abs(np.subtract.outer(np.arange(rounds), np.arange(rounds)))
    return turn**2 / rounds + shift**2 * float((staying**between).mean())

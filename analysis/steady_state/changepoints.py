"""Detects level changes in a series of times: PELT on mean and variance, from `ruptures`."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import ruptures
from ruptures.base import BaseCost
from statsmodels.robust.scale import qn_scale

Series = npt.NDArray[np.float64]

AUTOCORRELATION = 0.36  # of neighbouring mini-batches, as measured on a cloud VM
INFLATION = (1 + AUTOCORRELATION) / (1 - AUTOCORRELATION)  # of the variance of a long mean
SHORTEST = 3  # mini-batches of a segment
PENALTY = 2.5  # penalty of a change, times the logarithm of the length, times the inflation
WEIGHT = 300.0  # weight of the whole series' scatter in a segment's, in mini-batches
SPIKE = 3.0  # standard deviations from the median of five, beyond which a single value is clipped


class Scatter(NamedTuple):
    """Of one mini-batch around its level, on logarithms: standard deviation, and by how much
    autocorrelation raises the variance of a mean over what `sd` alone says."""

    sd: float
    inflation: float = INFLATION

    @property
    def lasting(self) -> float:
        """Standard deviation of a mean of n mini-batches, times the root of n."""
        return self.sd * math.sqrt(self.inflation)


class MeanAndVariance(BaseCost):  # type: ignore[misc]
    """Twice the negative log-likelihood of a normal segment with its own mean and variance.

    The variance is shrunk to that of the whole series, as if by `WEIGHT` more mini-batches.
    Without it, three mini-batches that happen to be close together would be likelier than
    anything, and a level that goes up and down would be one segment with a large variance.
    """

    model = "mean and variance, shrunk"
    min_size = 1

    def __init__(self, sd: float) -> None:
        self.variance = sd**2

    def fit(self, signal: Series) -> "MeanAndVariance":
        self.signal = signal
        values = np.asarray(signal, float).ravel()
        self.sums = [0.0, *np.cumsum(values).tolist()]  # lists: an element is read far faster
        self.squares = [0.0, *np.cumsum(values**2).tolist()]
        return self

    def error(self, start: int, end: int) -> float:
        n, total = end - start, self.sums[end] - self.sums[start]
        return self.of(self.squares[end] - self.squares[start] - total**2 / n, n)

    def of(self, squares: float, n: int) -> float:
        """The same from a sum of squared residuals."""
        squares = max(squares, 0.0) / self.variance
        return (n + WEIGHT) * math.log((squares + WEIGHT) / (n + WEIGHT))


def scatter(differences: Series, sd_of_turns: float = 0.0, turn: int = 1) -> Scatter:
    """From differences of neighbouring mini-batches, by Rousseeuw and Croux's (1993) Qn, which
    a few changes of level do not disturb. If whole turns of `turn` mini-batches differ by more
    than autocorrelation explains, `sd_of_turns` is that additional scatter."""
    sd = float(qn_scale(differences)) / math.sqrt(2 * (1 - AUTOCORRELATION))
    sd = max(sd, 1e-6)  # a clock that always gives the same time
    return Scatter(sd, max(INFLATION, turn * (sd_of_turns / sd) ** 2))


def without_spikes(series: Series, sd: float) -> Series:
    """The series with single values clipped that are far from the median of five around them."""
    padded = np.pad(series, 2, mode="edge")
    padded[:2], padded[-2:] = np.nan, np.nan
    middle = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    return np.clip(series, middle - SPIKE * sd, middle + SPIKE * sd)


class Segments(NamedTuple):
    """`bounds` from 0 to the length; `cost` without and `penalty` for each change."""

    bounds: list[int]
    costs: list[float]
    penalty: float
    cost: MeanAndVariance

    @property
    def spans(self) -> list[tuple[int, int]]:
        return list(pairwise(self.bounds))


def segments(series: Series, noise: Scatter) -> Segments:
    """Of logarithms without spikes. Autocorrelation makes chance changes look likelier by its
    inflation, and so raises the penalty (Lavielle and Moulines 2000)."""
    cost = MeanAndVariance(noise.sd)
    penalty = PENALTY * noise.inflation * math.log(len(series))
    search = ruptures.Pelt(custom_cost=cost, min_size=SHORTEST, jump=1)
    bounds = [0, *search.fit(series.reshape(-1, 1)).predict(pen=penalty)]
    return Segments(bounds, [cost.error(a, b) for a, b in pairwise(bounds)], penalty, cost)

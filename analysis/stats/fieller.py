"""After how many mini-batches a slower start has paid off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.stats.tails import t_exceeded

Outcome = Literal["at once", "never", "from", "until"]


@dataclass(frozen=True)
class PayOff:
    """When one contender is ahead of another if both start together: `at once`, `never`, `from`
    mini-batch `steps` on (it starts slower and steps faster), or `until` then (it starts faster
    and steps slower). `low` and `high` are the interval; without `high` there is no upper limit.

    `at once` and `never` have no `steps`. They are uncertain if there is a `low` or a `high`.
    `low`: the difference of the steps may have the other sign, and matters from there on at the
    earliest. `high`: that of the starts may, and matters until there at the latest."""

    outcome: Outcome
    steps: float | None = None
    low: float | None = None
    high: float | None = None


def pay_off(starts: Sequence[float], steps: Sequence[float], confidence: float) -> PayOff:
    """When one contender pays off against another.

    Args:
        starts: by replicate, how much longer the contender took to start than the other one, in
            seconds.
        steps: by replicate, how much longer it takes per mini-batch, in seconds.
    """
    start, step = float(np.mean(starts)), float(np.mean(steps))
    low, high = fieller([-value for value in starts], steps, confidence)
    if start * step < 0:
        return PayOff("from" if step < 0 else "until", -start / step, low, high)
    outcome: Outcome = "at once" if start + step < 0 else "never"
    return PayOff(outcome, None, low, None) if high is None else PayOff(outcome, high=high or None)


def fieller(
    above: Sequence[float], below: Sequence[float], confidence: float
) -> tuple[float | None, float | None]:
    """Fieller's (1954) interval of the mean of `above` over the mean of `below`, which are paired;
    the positive part of it.

    It is valid even if the denominator may be zero. The ratio then has no upper bound (None),
    although the delta method and the bootstrap would give one. With one pair both ends are None.
    """
    n = len(above)
    if n < 2:
        return None, None
    one, two = float(np.mean(above)), float(np.mean(below))
    spread = np.cov(above, below) * t_exceeded((1 - confidence) / 2, n - 1) ** 2 / n
    # ratios r for which one - r * two is within its own interval of zero
    a, b, c = two**2 - spread[1, 1], one * two - spread[0, 1], one**2 - spread[0, 0]
    root = math.sqrt(max(b**2 - a * c, 0.0))
    if a > 0:
        return max((b - root) / a, 0.0), max((b + root) / a, 0.0)
    if a < 0 < c:
        return (b - root) / a, None
    return 0.0, None

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
    so many mini-batches on (it starts slower and steps faster), or `until` so many (it starts
    faster and steps slower). If `high` is None, the measurements give no upper limit, so it may
    be never.

    `at once` and `never` have no `steps`. A number then says that they are uncertain. `low`: the
    steps may be the other way round, with an effect from there on at the earliest. `high`: the
    starts may be the other way round, with an effect until there at the latest."""

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
    """Fieller's (1954) interval of the ratio of two paired means, as far as it is positive.

    It holds even if the lower mean may be zero. Then the ratio has no upper bound (None), although
    the delta method and the bootstrap would give one. Both ends are None if there is one pair
    only.
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

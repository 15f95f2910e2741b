"""How often something happened, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.simulation.judging import Bools


@dataclass(frozen=True)
class Rate:
    """A share of `of` rows in all studies, with its 95 % interval; `least` is what the true one
    is above but for one chance in 1,000."""

    share: float
    low: float
    high: float
    least: float
    of: int


def rate(hits: Bools) -> Rate:
    """`hits` are (studies,) or (studies, rows). The interval is Clopper and Pearson's (1934)
    with the effective number of rows of Korn and Graubard (1998), since rows of one study may
    err together: the number over the design effect, one at least."""
    if not hits.size:
        return Rate(0.0, 0.0, 1.0, 0.0, 0)
    hits = hits.reshape(len(hits), -1)
    share, count = float(hits.mean()), hits.size
    alone = share * (1 - share) / count
    together = float(hits.mean(axis=1).var()) / len(hits)
    effective = count / max(1.0, together / alone if alone else 1.0)
    seen = share * effective
    low, least = (
        float(stats.beta.ppf(chance, seen, effective - seen + 1)) if seen else 0.0
        for chance in (0.025, 0.001)
    )
    high = float(stats.beta.ppf(0.975, seen + 1, effective - seen)) if seen < effective else 1.0
    return Rate(share, low, high, least, count)


def joined(parts: list[Bools]) -> Rate:
    """Of studies in several portions."""
    return rate(np.concatenate(parts))

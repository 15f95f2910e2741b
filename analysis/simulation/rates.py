"""How often something happened, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.simulation.judging import Bools


@dataclass(frozen=True)
class Rate:
    """A share of `of` rows in all studies, with its 95 % interval."""

    share: float
    low: float
    high: float
    of: int


def rate(hits: Bools) -> Rate:
    """`hits` are (studies,) or (studies, rows). The interval is Clopper and Pearson's (1934)
    with the effective number of rows of Korn and Graubard (1998), since rows of one study may
    err together: the number over the design effect, one at least."""
    if not hits.size:
        return Rate(0.0, 0.0, 1.0, 0)
    hits = hits.reshape(len(hits), -1)
    share, count = float(hits.mean()), hits.size
    alone = share * (1 - share) / count
    together = float(hits.mean(axis=1).var()) / len(hits)
    effective = count / max(1.0, together / alone if alone else 1.0)
    seen = share * effective
    low = float(stats.beta.ppf(0.025, seen, effective - seen + 1)) if seen else 0.0
    high = float(stats.beta.ppf(0.975, seen + 1, effective - seen)) if seen < effective else 1.0
    return Rate(share, low, high, count)


def joined(parts: list[Bools]) -> Rate:
    """Of studies in several portions."""
    return rate(np.concatenate(parts))

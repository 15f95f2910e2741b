"""From simulated mini-batches to verdicts and rates, by the code that the report uses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.stats.estimator import log_ratio
from analysis.stats.inference import holm, of_equivalence, students, verdict
from benchmarks.simulation.drawing import Array, Deal

CONFIDENCE, MARGIN = 0.95, 0.03  # of the studies on the committed page
ALPHA = 1 - CONFIDENCE

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def medians(logs: Array | Floats, deal: Deal) -> Floats:
    """Logarithm of the median steady-state time of each process, as `processes` and `logs` of
    analysis/data/processes.py: (..., mini-batches) to (...)."""
    steady = np.sort(logs[..., deal.steady], axis=-1)
    middle = steady.shape[-1] // 2
    low: Floats = steady[..., middle - 1 + steady.shape[-1] % 2].astype(float)
    found: Floats = np.logaddexp(low, steady[..., middle].astype(float)) - np.log(2)
    return found


def log_ratios(logs: Array | Floats, deal: Deal, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Log-ratios of contests (contests, contenders, mini-batches), as (contests, pairs)."""
    rounds = deal.by_round(logs)[..., deal.settle :]
    found = np.empty((len(logs), len(pairs)))
    for place, (one, other) in enumerate(pairs):
        found[:, place] = log_ratio(rounds[:, one], rounds[:, other])
    return found


@dataclass(frozen=True)
class Judgement:
    """What the report would say, every entry (studies, rows of the comparison table)."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    p: Floats
    tost_low: Floats
    tost_high: Floats

    def covers(self, truth: Floats | float) -> Bools:
        return (self.low <= truth) & (truth <= self.high)

    @property
    def half_width(self) -> Floats:
        return (self.high - self.low) / 2


def judge(ratios: Floats) -> Judgement:
    """`ratios` are logarithms, (studies, replicates, rows)."""
    studies, replicates, rows = ratios.shape
    flat = ratios.transpose(0, 2, 1).reshape(-1, replicates)
    _, _, *narrow, _ = students(flat, of_equivalence(CONFIDENCE))
    parts = (*students(flat, CONFIDENCE), *narrow)
    return Judgement(*(part.reshape(studies, rows) for part in parts))


def concluded(judged: Judgement) -> tuple[NDArray[np.str_], Floats]:
    """Verdicts, and p-values after Holm's correction over the rows of each study."""
    ends = (judged.low, judged.high, judged.tost_low, judged.tost_high)
    rows = zip(*(np.exp(end).ravel().tolist() for end in ends), strict=True)
    said = [verdict((low, high), (least, most), MARGIN) for low, high, least, most in rows]
    corrected = [holm(p) for p in judged.p.tolist()]
    return np.array(said).reshape(judged.p.shape), np.array(corrected)


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

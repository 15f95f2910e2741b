"""From simulated mini-batches to verdicts, by the code that the report uses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.hodges_lehmann import differences
from analysis.stats.inference import Verdict, holm, students, verdict
from benchmarks.simulation.drawing import Array, Deal

CONFIDENCE, MARGIN = 0.95, 0.03  # of the default study
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


def log_ratios(logs: Array, deal: Deal, pairs: Sequence[tuple[int, int]]) -> Floats:
    """As `paired` of analysis/data/processes.py, where every mini-batch dealt as steady is:
    (contests, contenders, mini-batches) to (contests, pairs)."""
    rounds = logs[..., deal.steady].reshape(*logs.shape[:2], deal.rounds, -1)
    found = np.empty((len(logs), len(pairs)))
    for place, (one, other) in enumerate(pairs):
        apart = differences(rounds[:, one], rounds[:, other])
        found[:, place] = np.median(apart.reshape(len(logs), -1), axis=1)
    return found


@dataclass(frozen=True)
class Judgement:
    """What the report would say, every entry (studies, rows of the comparison table)."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    p: Floats

    def covers(self, truth: Floats | float) -> Bools:
        return (self.low <= truth) & (truth <= self.high)

    @property
    def half_width(self) -> Floats:
        return (self.high - self.low) / 2


def judge(ratios: Floats) -> Judgement:
    """`ratios` are logarithms, (studies, replicates, rows)."""
    studies, replicates, rows = ratios.shape
    flat = ratios.transpose(0, 2, 1).reshape(-1, replicates)
    return Judgement(*(part.reshape(studies, rows) for part in students(flat, CONFIDENCE)))


def verdicts(judged: Judgement) -> tuple[NDArray[np.str_], Floats]:
    """Verdicts and p-values after Holm's correction over the rows of each study."""
    said: list[list[Verdict]] = []
    corrected: list[list[float]] = []
    parts = (np.exp(judged.mean), np.exp(judged.low), np.exp(judged.high), judged.p)
    for ratio, low, high, p in zip(*(part.tolist() for part in parts), strict=True):
        adjusted = holm(p)
        rows = zip(ratio, low, high, adjusted, strict=True)
        said.append([verdict(*row, MARGIN, ALPHA) for row in rows])
        corrected.append(adjusted)
    return np.array(said), np.array(corrected)

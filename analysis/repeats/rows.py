"""One row per comparison: the result of each run, and whether the runs agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import stats
from statsmodels.stats.oneway import anova_oneway

from analysis.data.processes import paired
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison
from analysis.repeats.runs import Run
from analysis.stats.inference import SAME, holm

ALPHA = 0.05
Concord = Literal["agree", "differ in resolution", "contradict", "not in all runs"]


@dataclass(frozen=True)
class Repeat:
    """A comparison with its estimate from each run, in order; None for a run without a ratio.

    `apart` names pairs of runs, by index, whose intervals do not overlap; `spread` is the
    largest ratio over the smallest, minus 1; `p` asks whether the runs' means differ by more
    than the replicates within them explain, `p_adjusted` is Holm's over all rows.
    """

    id: BenchmarkId
    found: list[Comparison | None]
    verdicts: Concord
    apart: list[tuple[int, int]]
    spread: float | None
    p: float | None
    p_adjusted: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every run has an interval for this comparison."""
        return all(row and row.estimate.ratio_low for row in self.found)

    @property
    def sound(self) -> bool:
        """No contradiction, and no difference between runs beyond their internal scatter. The page
        names intervals that do not overlap, but some of many pairs do so by chance."""
        told = self.verdicts in ("agree", "differ in resolution")
        return self.complete and told and (self.p_adjusted is None or self.p_adjusted >= ALPHA)


def repeats(runs: Sequence[Run]) -> list[Repeat]:
    """Every comparison that has a ratio in any of the runs."""
    by_id = [{row.id: row for row in run.findings.comparisons} for run in runs]
    rows = []
    for one in dict.fromkeys(one for own in by_id for one in own):
        found = [row if (row := own.get(one)) and row.estimate.ratio else None for own in by_id]
        if any(found):
            rows.append(repeat(one, found, runs))
    adjusted = iter(holm([row.p for row in rows if row.p is not None]))
    return [row if row.p is None else replace(row, p_adjusted=next(adjusted)) for row in rows]


def repeat(benchmark: BenchmarkId, found: list[Comparison | None], runs: Sequence[Run]) -> Repeat:
    rows = [row for row in found if row]
    ratios = [row.estimate.ratio for row in rows if row.estimate.ratio]
    logs = [ratio_logs(run, row) for run, row in zip(runs, found, strict=True) if row]
    return Repeat(
        id=benchmark,
        found=found,
        verdicts=concord(found),
        apart=[(i, j) for i, j in combinations(range(len(found)), 2) if gap(found[i], found[j])],
        spread=max(ratios) / min(ratios) - 1 if len(ratios) > 1 else None,
        p=between(logs),
    )


def concord(found: Sequence[Comparison | None]) -> Concord:
    """Faster and slower contradict each other. All other verdicts are compatible: an interval may
    be too wide to decide, or lie within the margin and yet exclude 1."""
    if len({row.base if row else None for row in found}) > 1 or None in found:
        return "not in all runs"
    verdicts = {row.estimate.verdict for row in found if row}
    if {"faster", "slower"} <= verdicts:
        return "contradict"
    return "agree" if len(verdicts) == 1 else "differ in resolution"


def gap(one: Comparison | None, other: Comparison | None) -> bool:
    """Whether two intervals do not overlap; without an interval nobody can say."""
    if not (one and other):
        return False
    (_, low, high), (_, other_low, other_high) = one.estimate.ends, other.estimate.ends
    if not (low and high and other_low and other_high):
        return False
    return high < other_low or other_high < low


def ratio_logs(run: Run, row: Comparison) -> list[float]:
    """The log-ratio of every replicate."""
    measured = run.findings.measured
    return paired(measured[row.id], measured[row.base]).tolist()


def between(logs: Sequence[Sequence[float]]) -> float | None:
    """Welch's (1951) one-way analysis of variance, which lets runs scatter unequally: p for
    all runs having one mean. None with fewer than two runs, or with a run that has no scatter."""
    if len(logs) < 2 or any(len(own) < 2 or np.ptp(own) < SAME for own in logs):
        return None
    return float(anova_oneway([np.asarray(own) for own in logs], use_var="unequal").pvalue)


def chance_of_gap(n: int, other: int, confidence: float) -> float:
    """Probability that Student's intervals of two runs with as many replicates do not overlap
    although they have one mean and one variance."""
    quantiles = (np.arange(400) + 0.5) / 400
    half = [
        stats.t.isf((1 - confidence) / 2, m - 1)
        * np.sqrt(stats.chi2.ppf(quantiles, m - 1) / (m - 1) / m)
        for m in (n, other)
    ]
    distance = half[0][:, None] + half[1][None, :]
    return float(2 * stats.norm.sf(distance / math.sqrt(1 / n + 1 / other)).mean())


def gaps_by_chance(rows: Sequence[Repeat], confidence: float) -> tuple[int, float]:
    """How many pairs of intervals there are, and how many would not overlap by chance alone."""
    pairs = [
        (one.estimate.replicates, other.estimate.replicates)
        for row in rows
        for one, other in combinations([r for r in row.found if r and r.estimate.ratio_low], 2)
    ]
    chances = {pair: chance_of_gap(*pair, confidence) for pair in set(pairs)}
    return len(pairs), sum(chances[pair] for pair in pairs)

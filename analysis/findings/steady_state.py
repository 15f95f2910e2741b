"""The check of steady state: whether a contender alone drifts during its contests.

Warm-up has a fixed length: so many mini-batches of each process, and the first of each turn.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd

from analysis.data.results import BenchmarkId, Machine, grouped
from analysis.format import alike, percent
from analysis.stats.drift import alone, change
from analysis.stats.inference import student
from analysis.stats.intervals import UNKNOWN, Interval

MOST = 700.0  # logarithm of the largest ratio that is reported; a float overflows at 710


@dataclass(frozen=True)
class SteadyLine:
    """A row of steady.csv: by which share mini-batches took longer in the last third of the rounds
    than in the first, beyond the other contenders on the same cores in the same contest.

    `drift` is the mean over `replicates`, None if there were fewer than two others. Its interval is
    Student's, at the study's confidence for all benchmarks of the machine together (Bonferroni):
    at 95 %, at most one study in twenty without any drift has an interval that leaves out 0.
    `steady` is no if the whole interval lies beyond the study's margin, on one side. The benchmark
    then has no ratio, and `reason` says so.
    """

    id: BenchmarkId
    replicates: int
    drift: Annotated[Interval, "drift drift_low drift_high"] = UNKNOWN
    steady: bool = True
    reason: str = ""

    @property
    def size(self) -> str:
        """`12 % more time`, `5 % less time`"""
        drift = self.drift.value or 0.0
        return f"{percent(float(f'{abs(drift):.2g}'))} {'more' if drift > 0 else 'less'} time"

    def suspect(self, margin: float) -> bool:
        """Whether the drift is more than the margin and its interval leaves out 0."""
        drift, low, high = self.drift
        if drift is None or low is None or high is None:
            return False
        return abs(math.log1p(drift)) > math.log1p(margin) and (low > 0 or high < 0)


def steady_lines(
    machine: Machine, measured: Mapping[BenchmarkId, pd.DataFrame]
) -> list[SteadyLine]:
    """A row for each benchmark that was measured."""
    found = dict(relative_drifts(machine, measured))
    tested = sum(len(logs) > 1 for logs in found.values())
    sure = 1 - (1 - machine.study.confidence) / max(tested, 1)
    lines = [steady_line(machine, benchmark, logs, sure) for benchmark, logs in found.items()]
    return sorted(lines, key=lambda line: machine.order(line.id))


def relative_drifts(
    machine: Machine, measured: Mapping[BenchmarkId, pd.DataFrame]
) -> Iterator[tuple[BenchmarkId, list[float]]]:
    """Each benchmark's drifts relative to the others, a logarithm for each replicate that has
    one. Controls do not count as others, because they repeat a contender."""
    groups = grouped(((one.workload, one.device, one.threads), one) for one in measured)
    for members in groups.values():
        replicates = sorted({number for one in members for number in measured[one].index})
        logs = [np.stack(measured[one]["logs"].tolist())[:, 1:] for one in members]
        held = np.flatnonzero(~np.isnan(np.concatenate(logs)).all(axis=(0, 2)))
        rounds = held.max(initial=-1) + 1
        changes = np.full((len(replicates), len(members)), np.nan)
        for place, one in enumerate(members):
            rows = np.searchsorted(replicates, measured[one].index)
            changes[rows, place] = change(logs[place][:, :rounds])
        others = [n for n, one in enumerate(members) if not machine.control(one)]
        found = alone(changes, others)
        for place, one in enumerate(members):
            yield one, found[~np.isnan(found[:, place]), place].tolist()


def steady_line(
    machine: Machine, benchmark: BenchmarkId, logs: list[float], sure: float
) -> SteadyLine:
    """The row of one benchmark. `sure`: the confidence of its interval, after Bonferroni."""
    if not logs:
        return SteadyLine(benchmark, 0)
    study = machine.study
    mean, same = student(logs, sure), math.log1p(study.margin)
    drift = mean.interval.through(lambda log: math.expm1(min(log, MOST)))
    line = SteadyLine(benchmark, len(logs), drift)
    if mean.low is None or mean.high is None or (-same <= mean.high and mean.low <= same):
        return line
    _, *ends = alike(*(100 * value for value in drift if value is not None))
    reason = (
        f"mini-batches of {benchmark.contender} took {line.size} in the last third of the rounds "
        f"than in the first ({' to '.join(ends)} % with {percent(study.confidence)} confidence for "
        "all contenders together), and the others on the same cores did not; that is more than the "
        f"margin of {percent(study.margin)}"
    )
    return replace(line, steady=False, reason=reason)

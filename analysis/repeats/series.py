"""The studies of a page, numbered by time, and the tests of all their contests together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.data.occasions import Occasion, occasion, processor
from analysis.data.processes import logs, paired
from analysis.data.results import BenchmarkId, Machine, grouped
from analysis.data.series import read_series
from analysis.findings.findings import Findings
from analysis.findings.speed.machine_speed import log_times
from analysis.findings.speed.movement import Movement, movements, same_layers
from analysis.stats.rounds import Floats
from analysis.stats.series import captured_by_chance, permuted, share_of_line
from workflows.records.storage import RecordError

Pair = tuple[BenchmarkId, BenchmarkId]  # a benchmark and the one it is compared with


@dataclass(frozen=True)
class NumberedStudy:
    """One whole study; 1 is the earliest of all."""

    number: int
    findings: Findings
    occasion: Occasion

    @property
    def machine(self) -> Machine:
        return self.findings.machine


@dataclass(frozen=True)
class Series:
    """The studies of one machine, in order of time, and their comparisons."""

    studies: list[NumberedStudy]
    rows: list[Movement]

    @property
    def machine(self) -> str:
        return self.studies[0].machine.name

    @property
    def occasions(self) -> dict[Occasion, list[NumberedStudy]]:
        return grouped((study.occasion, study) for study in self.studies)


def all_series(folders: Sequence[Path]) -> list[Series]:
    """The studies in these folders by machine, the machine with most studies first.

    Raises:
        RecordError: fewer than two folders, or the studies do not measure the same.
    """
    if len(folders) < 2:
        raise RecordError("two studies at least are needed: a folder for each")
    by_machine = grouped(
        (machine.name, NumberedStudy(number, Findings(machine), occasion(machine)))
        for number, machine in enumerate(read_series(folders), 1)
    )
    found = [
        Series(own, movements([study.findings for study in own])) for own in by_machine.values()
    ]
    return sorted(found, key=lambda series: -len(series.studies))


class Joint(NamedTuple):
    """A joint test of `studies`: mean F over the rows, and its p by permutation."""

    studies: list[NumberedStudy]
    contests: int
    f: float
    p: float


def joint_tests(series: Series) -> Iterator[Joint]:
    """Whether studies differ by more than their contests scatter: all studies of the machine, then
    those of each occasion."""
    groups = [series.studies, *series.occasions.values()]
    for group in groups if len(series.occasions) > 1 else groups[:1]:
        if len(group) > 1 and series.rows:
            tables = [contests(series, study) for study in group]
            labels = np.repeat(range(len(group)), [len(table) for table in tables])
            yield Joint(group, len(labels), *permuted(np.concatenate(tables), labels))


def contests(series: Series, study: NumberedStudy) -> Floats:
    """Log-ratios of a study, (replicates, rows of the series), NaN if a replicate or the study has
    none. All workloads of a replicate are one unit, because the same processes may have measured
    them."""
    measured, place = study.findings.measured, series.studies.index(study)
    columns = [
        paired(measured[row.id], measured[row.base])
        if row.estimates[place] and row.id in measured and row.base in measured
        else pd.Series(dtype=float)
        for row in series.rows
    ]
    return pd.concat(columns, axis=1).sort_index().to_numpy(float)


class Captures(NamedTuple):
    """How many of `pairs` ordered pairs have an estimate of the second study in the interval of the
    first (`seen`), and which share would if both had the same true ratio and scatter."""

    where: str
    pairs: int
    seen: int
    by_chance: float


WITHIN, ACROSS = "of one occasion", "of two occasions on one kind of processor"
BETWEEN = "on two kinds of processor"


def captures(found: Sequence[Series]) -> list[Captures]:
    """For pairs of one occasion, of one kind of processor, of two kinds, and for all pairs."""
    estimates = [
        (study, {(row.id, row.base): row.estimate for row in study.findings.comparisons})
        for series in found
        for study in series.studies
    ]
    counted: dict[str, list[tuple[bool, float]]] = {WITHIN: [], ACROSS: [], BETWEEN: []}
    for (one, mine), (other, theirs) in permutations(estimates, 2):
        where = ACROSS if processor(one.machine) == processor(other.machine) else BETWEEN
        where = WITHIN if one.occasion == other.occasion else where
        for pair in mine.keys() & theirs.keys():
            a, b = mine[pair], theirs[pair]
            alike = same_layers(one.findings, other.findings, pair)
            if alike and a.ratio_low and a.ratio_high and b.ratio:
                chance = captured_by_chance(
                    a.replicates, b.replicates, one.machine.study.confidence
                )
                counted[where].append((a.ratio_low <= b.ratio <= a.ratio_high, chance))
    kinds = [(where, own) for where, own in counted.items() if own]
    if len(kinds) > 1:
        kinds.append(("in all", [pair for _, own in kinds for pair in own]))
    return [
        Captures(
            where, len(own), sum(seen for seen, _ in own),
            sum(chance for _, chance in own) / len(own),
        )
        for where, own in kinds
    ]  # fmt: skip


class Speed(NamedTuple):
    """The share of the ratios' variance, between studies or within occasions, that the machine's
    speed explains, and the share that any number would explain by chance. `own`: whether the speed
    is that of the machine's own turns."""

    where: str
    share: float
    by_chance: float
    own: bool


def speeds(series: Series) -> list[Speed]:
    """Empty if the studies are too few, or if the speed is unknown in one of them."""
    studies = series.studies
    rows = [row for row in series.rows if row.studies == len(studies)]
    turns = [log_times(study.machine) for study in studies]
    own = all(row.id.threads in times for row in rows for times in turns)
    found = [
        [
            times[row.id.threads] if own else speed_of_others(study.findings, row)
            for study, times in zip(studies, turns, strict=True)
        ]
        for row in rows
    ]
    if not rows or any(one is None for each in found for one in each):
        return []
    values = np.log([[e.ratio for e in row.estimates if e and e.ratio] for row in rows])
    order = list(series.occasions)
    groups = np.array([order.index(study.occasion) for study in studies])
    lines = np.array(found, dtype=float)
    shares = [
        ("between all studies", share_of_line(values, lines, np.zeros_like(groups))),
        ("within occasions", share_of_line(values, lines, groups)),
    ]
    return [Speed(name, *share, own) for name, share in shares if share]


def speed_of_others(findings: Findings, row: Movement) -> float | None:
    """Mean log time of the other contenders on the same workload, device and threads: a
    substitute for the machine's own turns, which older records do not have."""
    others = [
        float(logs(own).mean())
        for one, own in findings.matched.items()
        if one not in (row.id, row.base)
        and (one.workload, one.device, one.threads)
        == (row.id.workload, row.id.device, row.id.threads)
    ]
    return sum(others) / len(others) if others else None

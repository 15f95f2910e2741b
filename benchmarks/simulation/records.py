"""The log-ratios and mini-batches of recorded studies, which the noise is drawn from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.data.occasions import occasion, processor
from analysis.data.pairing import pairs
from analysis.data.processes import by_benchmark, processes, uncontrolled
from analysis.data.reading import load
from analysis.data.results import BenchmarkId
from analysis.stats.estimator import log_ratio
from workflows.records.storage import RecordError

Floats = NDArray[np.floating[Any]]


class Occasion(NamedTuple):
    """The studies of one start of a machine share a host. A day stands for the start in earlier
    records."""

    machine: str
    processor: str
    start: str


DEALT = ("rounds", "turn", "discard")


@dataclass(frozen=True)
class Design:
    """How a contest is dealt, as in `contest` of a configuration."""

    rounds: int
    turn: int
    discard: int

    @property
    def places(self) -> int:
        return self.turn - self.discard


@dataclass(frozen=True)
class RecordedStudy:
    """A recorded study's contests, without those in which a compared contender is missing.

    `logs` are the logarithms of the steady mini-batches, (contests, contenders, rounds, places).
    `compared` has the places of contender and reference for each comparison, and `ratios` the
    report's log-ratios, (contests, comparisons).
    """

    folder: str
    began: str
    occasion: Occasion
    design: Design
    names: list[str]
    compared: list[tuple[int, int]]
    logs: Floats

    @property
    def ratios(self) -> Floats:
        return log_ratios(self.logs, self.compared)

    def with_only(self, names: Collection[str]) -> "RecordedStudy":
        """The same study with these comparisons and their contenders."""
        kept = {
            name: pair
            for name, pair in zip(self.names, self.compared, strict=True)
            if name in names
        }
        used = sorted({place for pair in kept.values() for place in pair})
        places = [(used.index(one), used.index(base)) for one, base in kept.values()]
        return replace(self, names=list(kept), compared=places, logs=self.logs[:, used])


def log_ratios(logs: Floats, compared: Sequence[tuple[int, int]]) -> Floats:
    """Log-ratios of contests (contests, contenders, rounds, places), as (contests,
    comparisons)."""
    return np.stack([log_ratio(logs[:, one], logs[:, base]) for one, base in compared], axis=-1)


def read(folders: Sequence[Path]) -> list[RecordedStudy]:
    """The studies of these machine folders, by time, with the comparisons that all have.

    Raises:
        RecordError: a folder cannot be read, a study has fewer than two complete contests, or
            no comparison is in all studies.
    """
    found = sorted((study(folder) for folder in folders), key=lambda each: each.began)
    shared = set(found[0].names)
    for one in found:
        if not shared & {*one.names}:
            raise RecordError(f"{one.folder} has no comparison that all others have")
        shared &= {*one.names}
    return [one.with_only(shared) for one in found]


def study(folder: Path) -> RecordedStudy:
    machine = load([folder])[0]
    numbers = [machine.study.configuration["contest"][key] for key in DEALT]
    table = by_benchmark(processes(uncontrolled(machine)))
    matched = dict(sorted(pairs(machine, table, lambda _: machine.study.reference).items()))
    contenders = sorted({*matched, *matched.values()})
    if not contenders:
        raise RecordError(f"{folder}: there is nothing to compare")
    complete = sorted(set.intersection(*(set(table[one].index) for one in contenders)))
    if len(complete) < 2:
        raise RecordError(f"{folder}: fewer than two complete contests")
    logs = np.stack([np.stack(table[one].loc[complete, "logs"].tolist()) for one in contenders], 1)
    began = min(contest.started for contest in machine.records.contests)
    return RecordedStudy(
        folder=str(folder),
        began=began,
        occasion=Occasion(machine.name, processor(machine).model, occasion(machine).start),
        design=Design(*numbers),
        names=[name(one) for one in matched],
        compared=[(contenders.index(one), contenders.index(base)) for one, base in matched.items()],
        logs=logs[:, :, 1:],  # round 0 is the warm-up
    )


def name(one: BenchmarkId) -> str:
    return f"{one.workload} {one.contender}"

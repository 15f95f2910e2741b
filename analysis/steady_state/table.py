"""The start of each contender's steady state by process, and processes that have none."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, Machine
from analysis.format import alike, decimal, listing
from analysis.steady_state.classify import KINDS
from analysis.steady_state.search import NONE, SLOWDOWN, search
from analysis.steady_state.series import traces

INCONSISTENT = "inconsistent"


@dataclass(frozen=True)
class SteadyLine:
    """A row of steady.csv: processes by class after Barrett et al. (2017), `kind` the class of
    all, or `inconsistent`. `start_median` and `start_worst` are over those in `SteadyState.starts`:
    the step of the first steady mini-batch, from 0. `fastest_ms` and `slowest_ms` are the
    processes' medians. `steady` is no if most processes have no steady state."""

    id: BenchmarkId
    processes: int
    flat: int
    warmup: int
    slowdown: int
    none: int
    too_short: int
    kind: str
    start_median: float | None
    start_worst: int | None
    fastest_ms: float
    slowest_ms: float
    steady: bool

    @property
    def reason(self) -> str:
        """ "" if there is a steady state."""
        if self.steady:
            return ""
        ends = " to ".join(dict.fromkeys(alike(self.fastest_ms, self.slowest_ms)))
        return (
            f"{self.none} of {self.processes} processes of {self.id.contender} reached no "
            f"steady state; their medians are {ends} ms"
        )


@dataclass(frozen=True)
class SteadyState:
    """`starts`: the step from which each process is steady, by benchmark and replicate. It omits
    processes that never became steady, and single processes that slowed down although most of
    the contender's did not."""

    lines: list[SteadyLine]
    starts: dict[tuple[BenchmarkId, int], int]

    @property
    def unsteady(self) -> dict[BenchmarkId, str]:
        """The reason of each benchmark without a steady state."""
        return {line.id: line.reason for line in self.lines if not line.steady}

    def later(self, batches: pd.DataFrame) -> list[tuple[BenchmarkId, int]]:
        """Processes whose steady state starts after the warm-up that the contest marked."""
        dealt = batches[~batches["warmup"]].groupby([*COLUMNS, "replicate"])["step"].min()
        return [key for key, step in self.starts.items() if step > dealt[(*key[0], key[1])]]


def find(machine: Machine, batches: pd.DataFrame) -> SteadyState:
    """Search every process. `batches` come from processes that survived to the end of their
    contest, with warm-up as the contests marked it."""
    lines: list[SteadyLine] = []
    starts: dict[tuple[BenchmarkId, int], int] = {}
    steady = batches[~batches["warmup"]]
    medians = steady.groupby(COLUMNS)["ms"]
    for benchmark, found in traces(batches, machine.controls):
        if not any((trace.rounds > 0).any() for trace in found.values()):
            continue
        searched = search(list(found.values()))
        kinds = Counter(searched.kinds)
        own = {
            (benchmark, replicate): int(start)
            for replicate, start in zip(found, searched.starts, strict=True)
            if not np.isnan(start)
        }
        starts |= own
        rows = medians.get_group(tuple(benchmark))
        middle = rows.groupby(steady.loc[rows.index, "replicate"]).median()
        places = list(own.values())
        lines.append(
            SteadyLine(
                benchmark,
                processes=len(found),
                flat=kinds["flat"],
                warmup=kinds["warm-up"],
                slowdown=kinds[SLOWDOWN],
                none=kinds[NONE],
                too_short=kinds["too short"],
                kind=next(iter(kinds)) if len(kinds) == 1 else INCONSISTENT,
                start_median=float(np.median(places)) if places else None,
                start_worst=max(places, default=None),
                fastest_ms=float(middle.min()),
                slowest_ms=float(middle.max()),
                steady=2 * kinds[NONE] <= len(found),
            )
        )
    return SteadyState(sorted(lines, key=lambda line: machine.order(line.id)), starts)


COUNTS = ("flat", "warmup", "slowdown", "none", "too_short")


def marked(batches: pd.DataFrame, starts: dict[tuple[BenchmarkId, int], int]) -> pd.DataFrame:
    """Mark all mini-batches before steady state as `warmup`, too. A process that is not in `starts`
    counts from the median start of the contender's other processes."""
    if batches.empty or not starts:
        return batches
    table = pd.Series({(*one, replicate): step for (one, replicate), step in starts.items()})
    keys = pd.MultiIndex.from_frame(batches[[*COLUMNS, "replicate"]])
    usual = table.groupby(level=list(range(len(COLUMNS)))).median()
    others = usual.reindex(keys.droplevel(-1)).fillna(0).to_numpy()
    own = table.reindex(keys).to_numpy()
    first = np.where(np.isnan(own), others, own)
    return batches.assign(warmup=batches["warmup"] | (batches["step"] < first))


def classes(line: SteadyLine) -> str:
    """`warm-up 6, no steady state 1`."""
    counts = [
        f"{kind} {getattr(line, name)}"
        for name, kind in zip(COUNTS, KINDS, strict=True)
        if getattr(line, name)
    ]
    return listing(counts)


def start(line: SteadyLine) -> str:
    return "" if line.start_median is None else decimal(line.start_median, 1).removesuffix(".0")

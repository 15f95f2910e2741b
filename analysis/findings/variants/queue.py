"""What a clock shows of the first steps after a fence, if nobody waits for any of them.

A framework that returns from a step before its work is done keeps the rest in a queue. The queue is
empty when a turn begins, so the first steps of a turn are those of a loop between two fences. Once
the queue is full, each further step waits for an earlier one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from analysis.data.processes import by_benchmark
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.variants.pitfalls import PitfallLine
from analysis.stats.estimator import log_ratio
from analysis.stats.inference import Estimate, estimate

TURN = ["replicate", "round"]


@dataclass(frozen=True)
class QueueLine:
    """A row of queue.csv: the time that a clock shows of the first `steps` mini-batches of a turn,
    over that of the same ones in the variant `beside`, which waits for each. `reported_ms` and
    `fenced_ms` are both times by mini-batch, as geometric means over replicates and rounds.

    The harness's own work between two mini-batches is in neither time, but the queue empties
    meanwhile. So the ratio of a full queue stays below 1 by the share of that work. Nobody waits
    for transfers either: a step may train on what the harness has written meanwhile.
    """

    COLUMNS: ClassVar = (
        "machine workload framework variant beside device threads steps replicates ratio "
        "ratio_low ratio_high reported_ms fenced_ms dataset"
    )

    id: BenchmarkId
    beside: str
    steps: int
    estimate: Estimate
    reported_ms: float
    fenced_ms: float


def queue_lines(
    machine: Machine, batches: pd.DataFrame, pitfalls: Sequence[PitfallLine]
) -> list[QueueLine]:
    """Of pitfalls whose losses were read at the ends of turns only, by benchmark and number of
    steps. There are none in a study whose turns were condensed."""
    timed = {row.id: row.beside for row in pitfalls if row.estimate.ratio is not None}
    if not timed or (batches["weight"] != 1).any():
        return []
    turns = by_benchmark(batches[batches["round"] > 0].sort_values("step"))
    lines = [
        line
        for one, beside in timed.items()
        if unread(turns[one])
        for line in points(machine, turns, one, one._replace(variant=beside))
    ]
    return sorted(lines, key=lambda line: (*machine.order(line.id), line.steps))


def unread(rows: pd.DataFrame) -> bool:
    """Whether one loss of each turn was read."""
    read = rows.reset_index().groupby(TURN)["loss"].count()
    return len(rows) > len(read) and bool((read == 1).all())


def points(
    machine: Machine, turns: dict[BenchmarkId, pd.DataFrame], one: BenchmarkId, base: BenchmarkId
) -> Iterator[QueueLine]:
    own, other = (sums(turns[side]) for side in (one, base))
    shared = own.index.intersection(other.index)
    own, other = own.loc[shared], other.loc[shared]
    study = machine.study
    for steps in doubled(own.shape[1]):
        reached = (side[steps - 1].unstack("round").to_numpy(float) for side in (own, other))
        logs = [np.log(milliseconds) for milliseconds in reached]
        ratios = log_ratio(*(side[..., None] for side in logs))
        found = estimate(ratios[~np.isnan(ratios)].tolist(), study.margin, study.confidence)
        reported, fenced = (float(np.exp(np.nanmean(side))) / steps for side in logs)
        yield QueueLine(one, base.variant, steps, found, reported, fenced)


def sums(rows: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds until the end of each mini-batch of a turn: a row for each turn."""
    flat = rows.reset_index()
    flat["place"] = flat.groupby(TURN).cumcount()
    return flat.pivot(index=TURN, columns="place", values="ms").cumsum(axis=1)


def doubled(most: int) -> list[int]:
    """1, 2, 4 and so on, and `most` as the last."""
    return [2**power for power in range(most.bit_length()) if 2**power < most] + [most]

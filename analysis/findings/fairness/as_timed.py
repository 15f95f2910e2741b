"""How far float32, in which steps are timed, is from float64: a row for each contender."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from analysis.data.processes import COLUMNS, identity
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificate_steps import certified
from analysis.findings.fairness.long_turns import Away
from analysis.findings.fairness.timed_turns import (
    float64_turns,
    led_elsewhere,
    losses,
    typical,
    weights_astray,
)


@dataclass(frozen=True)
class AsTimedLine:
    """A row of as_timed.csv. Of the certificate in float32, the largest relative difference of a
    loss from float64 (`losses`), and from before a restart (`restarted`); after 2 and 10 steps, the
    typical error of weights over how far the tensor has moved (`typical_2`), and the share of
    numbers that are off by a tenth of that (`off_2`), of the tensor in which it is largest. Of the
    timed turns, the same from the turns in float64, with the mean error (`timed_mean`), except for
    turns in which float32 led elsewhere; and how far the losses of steps 2 to 4 or 2 to 10 are
    typically off (`timed_median`), of which `allowed` in full precision: whichever is nearer to
    that. What is not in the records is None."""

    id: BenchmarkId
    losses: float | None
    typical_2: float | None
    off_2: float | None
    typical_10: float | None
    off_10: float | None
    restarted: float | None
    timed_losses: float | None
    timed_median: float | None
    allowed: float | None
    timed_typical: float | None
    timed_off: float | None
    timed_mean: float | None


def as_timed_lines(machine: Machine, batches: pd.DataFrame) -> list[AsTimedLine]:
    """Contenders whose certificates compared the weights of float32 steps."""
    turns = float64_turns(machine)
    found = [(one, row) for one, _, row in certified(machine) if row.astray]
    if not found:
        return []
    table = losses(machine, batches, turns, 1.0)
    off = {identity(key): float(rows["off"].max()) for key, rows in table.groupby(COLUMNS)}
    medians, tf32 = typical(table), machine.study.configuration.get("tf32") is True
    last: dict[BenchmarkId, list[Away]] = {}
    elsewhere = led_elsewhere(machine, table, turns)
    for one, _, own in weights_astray(machine, batches, turns, elsewhere):
        last.setdefault(one, []).extend(own.values())
    return [
        AsTimedLine(
            one,
            max(row.float32, default=None),
            *worst(row.astray.get(2, {}).values()),
            *worst(row.astray.get(10, {}).values()),
            max(row.again, default=None),
            off.get(one),
            medians[one].reached if one in medians else None,
            medians[one].allowed
            if one in medians and not tf32 and not machine.format(one)
            else None,
            *worst((error.typical, error.off) for error in last.get(one, [])),
            max((error.mean for error in last.get(one, [])), default=None),
        )
        for one, row in found
    ]


def worst(tensors: Iterable[tuple[float, float]]) -> tuple[float | None, float | None]:
    """The largest of each number, in any tensor."""
    columns = list(zip(*tensors, strict=True))
    return (max(columns[0]), max(columns[1])) if columns else (None, None)

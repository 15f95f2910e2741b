"""How far float32, in which steps are timed, is from float64: a row for each contender."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificate_steps import certified
from analysis.findings.fairness.long_turns import Away
from analysis.findings.fairness.loss_check import LossCheck


@dataclass(frozen=True)
class AsTimedLine:
    """A row of as_timed.csv; None if the records lack a number. `losses` to `restarted` are about
    the float32 run of the certificate: the largest relative difference of a loss from float64
    (`losses`), and of one after a restart from before (`restarted`). After 2 and 10 steps,
    `typical_` is the median error of a tensor's weights over its median move, and `off_` the share
    of weights that are off by more than a tenth of that move, each the largest of any tensor.

    The rest compares timed turns with float64's, in losses that are finite. Weights leave out
    turns that float32 led elsewhere; `timed_mean` is their mean error. `timed_median` is how far
    the losses of steps 2 to 4 or 2 to 10 are typically off, whichever is nearer to its limit, which
    is `allowed`."""

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


def as_timed_lines(machine: Machine, check: LossCheck) -> list[AsTimedLine]:
    """A row for each contender whose certificate compared weights of float32 steps."""
    tf32 = machine.study.configuration.get("tf32") is True
    last: dict[BenchmarkId, list[Away]] = {}
    for one, _, own in check.after:
        last.setdefault(one, []).extend(own.values())
    return [
        AsTimedLine(
            one,
            max(row.float32, default=None),
            *worst(row.astray.get(2, {}).values()),
            *worst(row.astray.get(10, {}).values()),
            max(row.again, default=None),
            check.farthest.get(one),
            check.typical[one].reached if one in check.typical else None,
            check.typical[one].allowed
            if one in check.typical and not tf32 and not machine.format(one)
            else None,
            *worst((error.typical, error.off) for error in last.get(one, [])),
            max((error.mean for error in last.get(one, [])), default=None),
        )
        for one, _, row in certified(machine)
        if row.astray
    ]


def worst(tensors: Iterable[tuple[float, float]]) -> tuple[float | None, float | None]:
    """The largest of each of the two numbers, over all tensors."""
    columns = list(zip(*tensors, strict=True))
    return (max(columns[0]), max(columns[1])) if columns else (None, None)

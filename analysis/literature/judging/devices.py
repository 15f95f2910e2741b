"""Claims that compare a processor with a GPU: which rows they are about, an epoch from the start
of a process, what a larger mini-batch gains, and whether both compute the same."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from analysis.data.results import USUAL, BenchmarkId, grouped
from analysis.findings.speed.transferred import CROSSOVER, MOVED, RESIDENT, VECTOR
from analysis.format import device, listing, scientific, title
from analysis.literature.judging.arithmetic import AGREES, ALIKE, Calculation, distance
from analysis.literature.judging.double_ratios import DOUBLING, SPREAD, around, combined, quantile
from analysis.literature.studies import MeasuredRatio, Pair, StudyTables
from analysis.report.prose import workload
from frameworks.device import GPU, HOST

DEVICES = Pair("device", GPU.name, HOST.name)
EPOCH = Pair("epoch", HOST.name, GPU.name)
TREND = Pair("trend", GPU.name, HOST.name)
STEPS_ALONE, STEPS_MOVED = (Pair(axis, GPU.name, HOST.name) for axis in (RESIDENT, MOVED))
# What a side of a ratio is, by axis.
WORDS = {
    DEVICES.axis: "",
    EPOCH.axis: "an epoch on ",
    RESIDENT: "a step on ",
    MOVED: "transfer and step on ",
    TREND.axis: "each doubling of the batch on ",
    DOUBLING.axis: "twice the batch on ",
    SPREAD.axis: "the slowest over the fastest on ",
    CROSSOVER: "crossover ",
    VECTOR: "a vector ",
}
# Instead of numbers of threads: the most of the study; those of the processor's fastest contender;
# these, if it has run with several numbers of threads.
ALL, FASTEST, BEST = "all", "fastest", "best"
STEPS = {"mnist-cnn": 937}  # full mini-batches of an epoch of MNIST


def sides(pair: Pair) -> tuple[str, str]:
    """`a step on GPU`, `a step on CPU`"""
    words = WORDS.get(pair.axis, "")
    one, over = (f"{words}{device(own).replace('-', ' ')}" for own in pair[1:])
    return one, over


def selected(
    threads: Sequence[str], rows: Sequence[MeasuredRatio], study: StudyTables
) -> list[MeasuredRatio]:
    """The rows with the numbers of threads that a claim asks for; all, if it asks for none."""
    if threads == (ALL,):
        most = max((row.id.threads for row in study.ratios), default=0)
        return [row for row in rows if row.id.threads == most]
    if threads in ((FASTEST,), (BEST,)):
        several = threads == (BEST,)
        return [row for row in rows if against_the_fastest(study, row, several)]
    return [row for row in rows if not threads or str(row.id.threads) in threads]


def against_the_fastest(study: StudyTables, row: MeasuredRatio, several: bool) -> bool:
    """Whether the row's processor side is the fastest contender of its framework there. Nobody
    knows that if only the GPU was measured in one of the usual variants, or if the processor was
    to run with `several` numbers of threads and did not."""
    own = [
        time
        for time in study.times
        if (time.id.workload, time.id.framework) == (row.id.workload, row.id.framework)
        and time.id.variant in USUAL
    ]
    host = [time for time in own if time.id.on_host]
    if {time.id.variant for time in own} != {time.id.variant for time in host}:
        return False
    if several and len({time.id.threads for time in host}) < 2:
        return False
    fastest = min(host, key=lambda time: time.median, default=None)
    return fastest is not None and fastest.id == row.id._replace(device=HOST.name)


def epochs(study: StudyTables) -> Iterator[MeasuredRatio]:
    """The processor's time to the end of an epoch (a start and the steps) over the GPU's. The
    errors of these four times are taken as independent."""
    for row in study.of(DEVICES):
        sides, replicates = on_both(row), row.estimate.replicates
        if row.usable and row.id.workload in STEPS and all(one in study.starts for one in sides):
            (one, error), (over, other) = (epoch(study, side, replicates) for side in sides)
            own = replace(row, pair=EPOCH, reason="")
            both = math.hypot(error / one, other / over)
            fewest = min(study.starts[side].replicates for side in sides)
            yield around(own, math.log(one / over), both, fewest)


def on_both(row: MeasuredRatio) -> list[BenchmarkId]:
    return [row.id._replace(device=device) for device in (HOST.name, GPU.name)]


def epoch(study: StudyTables, side: BenchmarkId, replicates: int) -> tuple[float, float]:
    """Seconds of a start and an epoch, with their standard error. `replicates`: of the steps."""
    start = study.starts[side]
    (step,) = (own for own in study.times if own.id == side)
    steps = STEPS[side.workload] / 1000
    seconds = start.seconds + steps * step.median
    of_start = (start.high - start.low) / 2 / quantile(start.replicates)
    of_steps = steps * (step.high - step.low) / 2 / quantile(replicates)
    return seconds, math.hypot(of_start, of_steps)


OF_BATCH = re.compile(r"(.+-batch)-(\d+)")  # a size of a sweep over mini-batches
LINE = 3  # sizes, at least


def trends(study: StudyTables) -> Iterator[MeasuredRatio]:
    """What the ratio of the GPU's time to the processor's is multiplied by if the mini-batch
    doubles, over all sizes of a sweep."""
    swept = grouped(
        ((row.machine, row.id._replace(workload=size[1])), (math.log2(int(size[2])), row))
        for row in study.of(DEVICES)
        if (size := OF_BATCH.fullmatch(row.id.workload))
    )
    for (_, common), sizes in swept.items():
        if len(sizes) >= LINE:
            doublings, rows = zip(*sizes, strict=True)
            yield replace(trend(np.array(doublings), rows), id=common)


def trend(doublings: np.ndarray, rows: Sequence[MeasuredRatio]) -> MeasuredRatio:
    """The slope of least squares of the logarithms, their errors taken as independent. It is
    unusable if one of the ratios is."""
    own = replace(combined(rows), pair=TREND)
    if not own.certificate:
        return own
    away = doublings - doublings.mean()
    weights = away / (away @ away)
    log = float(weights @ np.log([row.known.ratio for row in rows]))
    error = float(np.linalg.norm(weights * [row.error for row in rows]))
    return around(own, log, error, own.estimate.replicates)


ROUNDING = 1e-5  # of float32 gradients
REFUSED = "refused: "


def both_devices(studies: Sequence[StudyTables], _: str) -> Calculation | None:
    """Whether a processor and a GPU agree in float64, and their float32 gradients with that. Both
    are compared with the same reference. None if no certificate is about both. A declared
    deviation does not count, because it says how far each is from the reference only."""
    rows = [
        (study, row)
        for study in studies
        for row in study.of(DEVICES)
        if row.certificate.startswith(AGREES) or REFUSED in row.reason
    ]
    if not rows:
        return None
    if refused := [row.reason for _, row in rows if not row.certificate]:
        return Calculation(False, "; ".join(refused))
    exact = max(distance(row.certificate) for _, row in rows)
    rounded = max(
        study.gradients.get(side, math.inf) for study, row in rows for side in on_both(row)
    )
    who, where = (
        listing(dict.fromkeys(names))
        for names in (
            (title(row.id.framework) for _, row in rows),
            (workload(row.id.workload) for _, row in rows),
        )
    )
    return Calculation(
        exact <= ALIKE and rounded <= ROUNDING,
        f"only {who} on {where}: losses and weights on both devices are within "
        f"{scientific(exact)} of the reference's in float64, and gradients in float32 within "
        f"{scientific(rounded)}",
    )

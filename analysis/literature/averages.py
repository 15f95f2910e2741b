"""Today's steps, averaged as the tools of 2016 averaged theirs: what the statistic alone does.

Only the rule differs. The steps are those of a study whose contenders do the same work in the same
minutes; nothing is measured anew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, median
from typing import Any, NamedTuple

from analysis.data.results import USUAL, BenchmarkId, Machine
from analysis.format import listing, title
from analysis.literature.dots import HEIGHT, legend, ratios_on
from analysis.literature.studies import StudyTables
from analysis.report.figures.style import PALETTE, Figure, canvas
from analysis.report.prose import share, two
from frameworks.workloads import from_dict

DECIDED = ("faster", "slower")


class Process(NamedTuple):
    """The steps of a replicate's process, without those that each turn discards: `ms` (transfer and
    step) and `data_ms` of all of them, of which the first `warmup` are warm-up, and the `ms` of the
    others by turn."""

    replicate: int
    batch: int
    ms: list[float]
    data_ms: list[float]
    warmup: int
    turns: list[list[float]]


def printed_speeds(own: Process) -> float:
    """Milliseconds, from the mean of the turns' speeds in samples a second, with two decimals."""
    speeds = [round(own.batch * len(ms) / sum(ms) * 1e3, 2) for ms in own.turns]
    return own.batch * 1e3 / fmean(speeds)


OURS = "the median of steady steps"
# `data/timing.csv` says where the tools of 2016 follow the others.
STATISTICS: dict[str, Callable[[Process], float]] = {
    "mean, with the first step": lambda own: fmean(own.ms),
    "the last step alone": lambda own: own.ms[-1],
    "sum without the first, over all": lambda own: sum(own.ms[1:]) / len(own.ms),
    "mean of printed speeds": printed_speeds,
    "mean without the first epoch": lambda own: fmean(own.ms[own.warmup :]),
    "mean without the first, with reading data": lambda own: (
        fmean(own.ms[1:]) + fmean(own.data_ms[1:])
    ),
    "mean with reading data": lambda own: fmean(own.ms) + fmean(own.data_ms),
    OURS: lambda own: median(own.ms[own.warmup :]),
}


@dataclass(frozen=True)
class Average:
    """A row of averages.csv: a statistic of a contender's processes, of `steps` steps each.
    `value_ms` is the median process, and `over_ours` that over the study's own figure. `least` and
    `most` are of single processes; in 2016 every tool had one."""

    workload: str
    contender: str
    statistic: str
    processes: int
    steps: int
    value_ms: float
    over_ours: float
    least: float
    most: float


@dataclass(frozen=True)
class Order:
    """A row of orders.csv: single processes of two frameworks, one averaged by `one`, the other by
    `other`. `changed`: how often their order contradicts the study's verdict."""

    one: str
    other: str
    compared: int
    changed: int


def processes(machine: Machine) -> dict[BenchmarkId, list[Process]]:
    """The processes of the usual variants, by contender, in the order of the replicates."""
    batch = {one.name: from_dict(one.description).batch for one in machine.records.workloads}
    rows = machine.batches[machine.batches["variant"].isin(USUAL)]
    rows = rows[(rows["round"] == 0) | ~rows["warmup"]]
    found: dict[BenchmarkId, list[Process]] = {}
    key: Any
    for key, own in rows.groupby([*BenchmarkId._fields, "replicate"]):
        one = BenchmarkId(*key[:-1])
        own = own.sort_values(["round", "step"])
        steady = own[own["round"] > 0]
        found.setdefault(one, []).append(
            Process(
                int(key[-1]),
                batch[one.workload],
                own["ms"].tolist(),
                own["data_ms"].tolist(),
                len(own) - len(steady),
                [turn.tolist() for _, turn in steady.groupby("round")["ms"]],
            )
        )
    return found


def averages(found: Mapping[BenchmarkId, list[Process]], study: StudyTables) -> list[Average]:
    """A row for each statistic of each contender with a time in `study`. `found`: `processes`."""
    figures = {one.id: one.median for one in study.times}
    return [
        Average(one.workload, one.contender, name, len(own), len(own[0].ms), median(values), *(
            of(values) / figures[one] for of in (median, min, max)
        ))
        for one, own in found.items()
        if one in figures
        for name, statistic in STATISTICS.items()
        for values in [[statistic(process) for process in own]]
    ]  # fmt: skip


def orders(found: Mapping[BenchmarkId, list[Process]], study: StudyTables) -> list[Order]:
    """Each pair of statistics, over the pairs of frameworks with a decided verdict. A process is
    compared with that of the same replicate."""
    pairs = [
        (*of_both(found[one], found[other]), row.estimate.verdict == "faster")
        for row in study.ratios
        if row.pair.axis == "framework" and row.usable and row.estimate.verdict in DECIDED
        for one, other in [[
            row.id._replace(framework=side)
            for side in (row.pair.one, row.pair.over)
        ]]
        if one in found and other in found
    ]  # fmt: skip
    return [
        Order(name, beside, len(faster), sum(faster))
        for (name, one), (beside, other) in product(STATISTICS.items(), repeat=2)
        if (faster := [
            (one(own) < other(against)) is not first
            for left, right, first in pairs
            for own, against in zip(left, right, strict=True)
        ])
    ]  # fmt: skip


def of_both(
    some: Sequence[Process], others: Sequence[Process]
) -> tuple[list[Process], list[Process]]:
    """The processes of the replicates that both have."""
    both = {one.replicate for one in some} & {one.replicate for one in others}
    first, second = ([one for one in own if one.replicate in both] for own in (some, others))
    return first, second


def figure(rows: Sequence[Average], found: Sequence[Order]) -> Figure:
    names = list(STATISTICS)
    frameworks = [one for one in PALETTE if any(one == framework(row) for row in rows)]
    with canvas(1.2 + HEIGHT * len(names)) as drawn:
        axes = drawn.add_subplot()
        for place, own in enumerate(frameworks):
            theirs = [row for row in rows if framework(row) == own]
            heights = [names.index(row.statistic) + 0.2 * (place - 1) for row in theirs]
            least, middle, most = (
                [getattr(row, name) for row in theirs] for name in ("least", "over_ours", "most")
            )
            axes.hlines(heights, least, most, color=PALETTE[own], linewidth=0.8, alpha=0.5)
            axes.plot(middle, heights, "o", color=PALETTE[own], markersize=4, alpha=0.7)
        ratios_on(axes, names, "over the study's own figure")
        legend(drawn, [(title(own), PALETTE[own], PALETTE[own]) for own in frameworks])
        steps = sorted({row.steps for row in rows})
        return Figure(
            drawn,
            "averages",
            "Today's steps, averaged as in 2016",
            "The same steps of each contender, averaged by the rules of the table below and by the "
            "study's own. Dot: the median of its processes; line: from the least to the most of "
            f"them, of which 2016 had one. A process has {listing(steps)} steps that count. "
            "[How often the order changes](orders.csv). Logarithmic axis.",
            "Dot plot of what each rule gives over the study's own figure.",
            finding(rows, found),
            inlined=False,
        )


def framework(row: Average) -> str:
    return row.contender.partition("/")[0]


def finding(rows: Sequence[Average], found: Sequence[Order]) -> str:
    least, most = min(row.over_ours for row in rows), max(row.over_ours for row in rows)
    said = f"Averaged as in 2016, the same steps are {two(least)} to {two(most)} times the figure"
    alike = [row for row in found if row.one == row.other != OURS]
    unlike = [row for row in found if row.one != row.other and OURS not in (row.one, row.other)]
    if not alike:
        return f"{said}."
    return (
        f"{said}. Single processes of two frameworks are in another order than in the study in "
        f"{share(of_all(alike))} of cases if both are averaged alike, and in "
        f"{share(of_all(unlike))} if each by another rule."
    )


def of_all(rows: Sequence[Order]) -> float:
    return sum(row.changed for row in rows) / sum(row.compared for row in rows)

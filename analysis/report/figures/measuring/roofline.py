"""The roofline of the machine, and every contender below it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.findings.speed.use import USE
from analysis.format import count, listing, percent
from analysis.report.figures.panels import fitting, logarithmic, who
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas
from analysis.report.prose import workload

WIDER = 4.0  # times; how far the roof reaches beyond the workloads


class Mark(NamedTuple):
    """A contender at the FLOP per byte of its step and the GFLOP/s that it reached, below the
    machine's `product` (GFLOP/s) and `stream` (GB/s), and its share of that limit."""

    id: BenchmarkId
    intensity: float
    speed: float
    product: float
    stream: float
    share: float


def roofline(findings: Findings, theme: Theme, name: str) -> Figure | None:
    marks = placed(findings)
    if not marks:
        return None
    threads = sorted({mark.id.threads for mark in marks})
    ends = [mark.intensity for mark in marks]
    span = np.geomspace(min(ends) / WIDER, max(ends) * WIDER, 60)
    with canvas(3.4) as drawn:
        grid = drawn.subplots(1, len(threads), squeeze=False, sharey=True)[0]
        for axes, number in zip(grid, threads, strict=True):
            panel(axes, [mark for mark in marks if mark.id.threads == number], theme, span)
            axes.set_title(count(number, "thread"))
            axes.set_xlabel("FLOP per byte")
        grid[0].set_ylim(min(mark.speed for mark in marks) / 2.5,
                         1.5 * max(mark.product for mark in marks))  # fmt: skip
        logarithmic(grid[0], "y")
        grid[0].set_ylabel("GFLOP/s")
        drawn.legend(handles=entries(marks, theme), loc="outside upper center", ncols=2,
                     labelcolor=INK)  # fmt: skip
        return Figure(
            drawn,
            name,
            "Roofline",
            "A mark is a contender: the arithmetic of its step per second, by the arithmetic for "
            "each byte of its least memory traffic. The roof is what this machine's own memory "
            "stream (slope) and matrix product (flat) reached in the same rounds.",
            f"Rooflines with marks below: {listing({workload(m.id.workload): 0 for m in marks})}.",
            finding(marks),
        )


def placed(findings: Findings) -> list[Mark]:
    found = []
    for line in findings.machine.matched_rows(USE.of(findings)):
        one = line.limit
        values = (one.flop_per_byte, one.gflop_per_s, one.product, one.stream, one.share)
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            found.append(Mark(line.id, *known))
    return found


def panel(axes: Axes, marks: Sequence[Mark], theme: Theme, span: np.ndarray) -> None:
    product = float(np.median([mark.product for mark in marks]))
    stream = float(np.median([mark.stream for mark in marks]))
    axes.set_xlim(span[0], span[-1])
    axes.set_yscale("log")
    axes.plot(span, np.minimum(product, stream * span), color=INK, linewidth=1.2)
    for mark in marks:
        axes.plot(
            mark.intensity, mark.speed, theme.marker(mark.id.variant), markersize=5,
            color=theme.colour(mark.id.framework),
        )  # fmt: skip
    for name in dict.fromkeys(mark.id.workload for mark in marks):
        own = [mark for mark in marks if mark.id.workload == name]
        axes.annotate(
            fitting(workload(name), 14), (own[0].intensity, min(mark.speed for mark in own)),
            xytext=(0, -7), textcoords="offset points", ha="center", va="top", fontsize=8,
        )  # fmt: skip
    logarithmic(axes, "x")
    bare(axes, "y")


def entries(marks: Sequence[Mark], theme: Theme) -> list[Line2D]:
    contenders = {(mark.id.framework, mark.id.variant): mark.id for mark in marks}
    return [
        Line2D([], [], color=theme.colour(one.framework), marker=theme.marker(one.variant),
               linestyle="", markersize=5, label=fitting(who(one)))
        for one in contenders.values()
    ]  # fmt: skip


def finding(marks: Sequence[Mark]) -> str:
    least, most = (sorted(marks, key=lambda mark: mark.share)[end] for end in (0, -1))
    return (
        f"Steps reach {percent(round(least.share, 2))} to {percent(round(most.share, 2))} of the "
        f"machine's limit: {who(least.id)} on the {workload(least.id.workload)} least, "
        f"{who(most.id)} on the {workload(most.id.workload)} most."
    )

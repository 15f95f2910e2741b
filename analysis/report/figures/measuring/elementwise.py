"""The time of a single operation by the number of elements, on logarithmic axes."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.data.results import Column, grouped
from analysis.findings.findings import Findings
from analysis.findings.speed.elementwise import ELEMENTWISE, ElementwiseLine
from analysis.findings.sweeps import sweeps
from analysis.format import count, listing, percent, title
from analysis.report.figures.panels import curve, fitting, logarithmic, who
from analysis.report.figures.style import INK, WIDTH, Figure, Theme, bare, canvas
from analysis.report.prose import size, spread
from frameworks.workloads import load

EACH, AROUND = 2.3, 0.9  # inches: a row of panels, and around them all
LABELS = 4  # of sizes below a panel
PUBLISHED = load("divide", None).outputs  # the elements of the division in the literature
Lines = Sequence[ElementwiseLine]


def operation_times(findings: Findings, theme: Theme, name: str) -> Figure | None:
    """A row of panels for each sweep of a single operation."""
    shown = panels(findings)
    if not shown:
        return None
    names = list(dict.fromkeys(panel.workload for panel in shown))
    conditions = list(dict.fromkeys(panel[1:] for panel in shown))
    rows = [row for own in shown.values() for row in own]
    sizes = sorted({row.elements for row in rows})
    sizes = sizes[:: -(-len(sizes) // LABELS)]
    with canvas(AROUND + EACH * len(names), WIDTH * max(len(conditions) / 2, 1)) as drawn:
        grid = drawn.subplots(len(names), len(conditions), squeeze=False, sharex=True, sharey="row")
        for axes_row, sweep in zip(grid, names, strict=True):
            for axes, condition in zip(axes_row, conditions, strict=True):
                panel = Column(sweep, *condition)
                axes.set_title(f"{fitting(sweep)}\n{panel.on}")
                draw(axes, shown.get(panel, []), theme)
            axes_row[0].set_ylabel("µs")
            logarithmic(axes_row[0], "y")
            axes_row[0].yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        for axes in grid[-1]:
            axes.set_xscale("log")
            axes.set_xticks(sizes, [size(one) for one in sizes])
            axes.minorticks_off()
            axes.set_xlabel("elements")
        contenders = {(row.id.framework, row.id.variant): row.id for row in rows}
        drawn.legend(
            handles=[
                *(Line2D([], [], color=theme.colour(one.framework), label=fitting(who(one)),
                         linestyle=theme.dashes(one.variant)) for one in contenders.values()),
                Line2D([], [], color=INK, linewidth=1.1, label="memory stream"),
            ],
            loc="outside upper center", ncols=3, labelcolor=INK,
        )  # fmt: skip
        return Figure(
            drawn,
            name,
            "The floor and the slope of single operations",
            "The time of one operation by the number of elements, with its "
            f"{percent(findings.machine.study.confidence)} interval. Dotted: the floor, which is "
            "the time at the smallest size, most of it for the call. Slope: the time that the same "
            "bytes take at the speed of the machine's memory stream. Small vectors may be below "
            "it, because they stay in the caches. "
            + f"Vertical line: the {PUBLISHED:,} elements of the division in the literature. "
            * any(published(row) for row in rows)
            + "Logarithmic axes.",
            f"Lines of time over elements for {count(len(names), 'sweep')}.",
            finding(rows),
        )


def panels(findings: Findings) -> Mapping[Column, Lines]:
    """The rows of each sweep by device and number of threads, from small to large."""
    found = grouped((row.id.workload, row) for row in ELEMENTWISE.of(findings))
    return grouped(
        (row.id.column._replace(workload=sweep.name), row)
        for sweep in sweeps(findings.machine)
        for name in sweep.workloads
        for row in found.get(name, [])
    )


def draw(axes: Axes, rows: Lines, theme: Theme) -> None:
    for one, own in grouped((row.id._replace(workload=""), row) for row in rows).items():
        colour = theme.colour(one.framework)
        times = [row.us for row in own]
        curve(axes, [row.elements for row in own], times, colour, theme.dashes(one.variant))
        axes.axhline(own[0].typical_us, color=colour, linestyle=":", linewidth=0.9)
    streams = [row.gb_per_s / row.share for row in rows if row.share]
    if streams:
        ends = np.array([rows[0].elements, rows[-1].elements])
        moved = rows[0].gb_per_s * rows[0].typical_us / rows[0].elements  # kB an element
        axes.plot(ends, ends * moved / np.median(streams), color=INK, linewidth=1.1)
    if any(published(row) for row in rows):
        axes.axvline(PUBLISHED, color=INK, linewidth=0.8, alpha=0.5)
        axes.text(PUBLISHED, 0.02, f"{PUBLISHED:,} ", transform=axes.get_xaxis_transform(),
                  ha="right", fontsize=8)  # fmt: skip
    bare(axes)


def published(row: ElementwiseLine) -> bool:
    """Whether the literature has this operation."""
    return row.operation == "divide"


def finding(rows: Lines) -> str:
    """How long the smallest operations take, by framework, and how fast the largest are."""
    sizes = sorted({row.elements for row in rows})
    least, most = sizes[0], sizes[-1]
    floors = grouped((row.id.framework, row.typical_us) for row in rows if row.elements == least)
    said = [f"{spread(min(own), max(own))} µs in {title(one)}" for one, own in floors.items()]
    speeds = [row.gb_per_s for row in rows if row.elements == most]
    return (
        f"With {least:,} elements an operation takes {listing(said)}. With {most:,} it moves "
        f"{spread(min(speeds), max(speeds))} GB/s."
    )

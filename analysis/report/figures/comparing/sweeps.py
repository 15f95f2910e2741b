"""How the ratio of two contenders depends on the size: a panel for each sweep and each kind of
pair."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.sweeps import CROSSOVERS, CrossoverLine
from analysis.format import count, device, percent, title
from analysis.report.figures.panels import curve, fitting, logarithmic
from analysis.report.figures.style import INK, WIDTH, Figure, Theme, bare, canvas
from analysis.report.prose import two

EACH, AROUND = 1.9, 0.9  # inches: a row of panels, and around them all


def sweep_ratios(findings: Findings, theme: Theme, name: str) -> Figure | None:
    shown = panels(CROSSOVERS.of(findings))
    if not shown:
        return None
    sweeps = list(dict.fromkeys(sweep for _, sweep in shown))
    kinds = list(dict.fromkeys(kind for kind, _ in shown))
    with canvas(AROUND + EACH * len(kinds), WIDTH * 1.25) as drawn:
        grid = drawn.subplots(len(kinds), len(sweeps), squeeze=False, sharex="col", sharey="row")
        for axes_row, kind in zip(grid, kinds, strict=True):
            for axes, sweep in zip(axes_row, sweeps, strict=True):
                axes.axhline(1, color=INK, linewidth=1.1)
                for line in shown.get((kind, sweep), []):
                    draw(axes, line, theme)
            logarithmic(axes_row[0], "y")
            for axes in axes_row:
                bare(axes)
            axes_row[0].set_ylabel(f"time, {kind}")
        labels = 5 if len(sweeps) < 4 else 3
        for axes, top, sweep in zip(grid[-1], grid[0], sweeps, strict=True):
            top.set_title(fitting(sweep))
            own = next(line.sweep for (_, found), rows in shown.items() for line in rows
                       if found == sweep)  # fmt: skip
            axes.set_xscale("log")
            axes.set_xlabel(own.parameter)
            axes.xaxis.set_major_locator(FixedLocator(own.sizes[:: -(-len(own.sizes) // labels)]))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
        frameworks = list(
            dict.fromkeys(line.id.framework for own in shown.values() for line in own)
        )
        drawn.legend(
            handles=[
                Line2D([], [], color=theme.colour(one), label=title(one)) for one in frameworks
            ],
            loc="outside upper center", ncols=len(frameworks), labelcolor=INK,
        )  # fmt: skip
        return Figure(
            drawn,
            name,
            "From which size on",
            "The time of the first over that of the second, by size, with its "
            f"{percent(findings.machine.study.confidence)} interval. Below the line, the first is "
            "faster. Shaded: the interval of the size at which they change places. Both axes are "
            "logarithmic.",
            f"Ratios by size for {count(len(sweeps), 'sweep')}.",
            finding(CROSSOVERS.of(findings)),
        )


def panels(rows: Sequence[CrossoverLine]) -> dict[tuple[str, str], list[CrossoverLine]]:
    """By kind of pair and by sweep. Pairs of frameworks are shown with the most threads and one
    base only."""
    most = max((row.id.threads for row in rows), default=0)
    return grouped(
        ((kind(row), row.sweep.name), row)
        for row in rows
        if row.axis != "framework" or (row.id.threads == most and row.base == first(rows, row))
    )


def first(rows: Sequence[CrossoverLine], row: CrossoverLine) -> object:
    """The first base among the pairs under the same conditions."""
    return next(
        own.base for own in rows
        if own.axis == row.axis and own.sweep == row.sweep
        and own.id.any_framework == row.id.any_framework
    )  # fmt: skip


def kind(row: CrossoverLine) -> str:
    """`2 threads : 1 thread`"""
    if row.axis == "threads":
        return f"{row.id.threads} threads : {count(row.base.threads, 'thread')}"
    if row.axis == "device":
        return f"{device(row.id.device)} : {device(row.base.device)}"
    return f"framework : {title(row.base.framework)}"


def draw(axes: Axes, line: CrossoverLine, theme: Theme) -> None:
    colour, dashes = theme.colour(line.id.framework), theme.dashes(line.id.variant)
    sizes = [line.size(point) for point in line.points]
    curve(axes, sizes, [point.estimate.ends for point in line.points], colour, dashes)
    if line.crossing.low and line.crossing.high:
        axes.axvspan(line.crossing.low, line.crossing.high, color=colour, alpha=0.15, linewidth=0)


def finding(rows: Sequence[CrossoverLine]) -> str:
    own = [row for row in rows if row.axis == "threads" and row.pays]
    if not own:
        return ""
    low = min(own, key=lambda row: row.at_flops or 0.0)
    high = max(own, key=lambda row: row.at_flops or 0.0)
    places = dict.fromkeys(f"{two((row.at_flops or 0.0) / 1e6)}" for row in (low, high))
    return (
        f"More threads pay from {' to '.join(places)} million operations a mini-batch on, "
        "depending on framework and network."
    )

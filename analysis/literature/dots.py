"""What the dot plots of the literature share: a row for each name, and what the dots stand for."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from analysis.literature.studies import KnownRatio
from analysis.report.figures.panels import logarithmic
from analysis.report.figures.style import INK, PAPER, bare

HEIGHT = 0.42  # inches for each row


def ratios_on(axes: Axes, names: Sequence[str], label: str) -> None:
    """A logarithmic axis of ratios, with a line at 1."""
    axes.axvline(1, color=INK, linewidth=1.2)
    axes.set_xscale("log")
    logarithmic(axes, "x")
    rows_on(axes, names, label)


def rows_on(axes: Axes, names: Sequence[str], label: str) -> None:
    axes.set_xlabel(label)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    bare(axes, "x")


def interval_on(
    axes: Axes, interval: KnownRatio, place: float, colour: str, hollow: bool = False
) -> None:
    """A line from end to end, and a dot on the ratio: `hollow` if its sides differ as declared."""
    ratio, *ends = interval
    axes.plot(ends, [place] * 2, color=colour, linewidth=1.6)
    axes.plot([ratio], [place], "o", color=colour, markersize=5,
              markerfacecolor=PAPER if hollow else colour)  # fmt: skip


def legend(drawn: Canvas, kinds: Sequence[tuple[str, ...]], columns: int = 3) -> None:
    """`kinds`: the text, the colours of the edge and of the inside, and the mark unless it is a
    dot."""
    handles = [
        Line2D([], [], marker=mark[0] if mark else "o", linestyle="", color=edge,
               markerfacecolor=inside, markersize=5, label=text)
        for text, edge, inside, *mark in kinds
    ]  # fmt: skip
    drawn.legend(handles=handles, loc="outside upper left", ncols=columns, labelcolor=INK)

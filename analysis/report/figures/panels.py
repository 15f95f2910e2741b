"""Small multiples: a panel for each workload, device and number of threads."""

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.data.results import BenchmarkId
from analysis.format import count, device, listing, title
from analysis.report.figures.style import INK, TALLEST, Theme


class Panel(NamedTuple):
    workload: str
    device: str
    threads: int

    def __str__(self) -> str:
        return f"{self.workload}, {device(self.device)}, {count(self.threads, 'thread')}"


class Panels(dict[Panel, list[BenchmarkId]]):
    """Benchmarks by panel, in their order; two panels side by side, three if there are many."""

    def __init__(self, benchmarks: Iterable[BenchmarkId]) -> None:
        for benchmark in benchmarks:
            self.setdefault(
                Panel(benchmark.workload, benchmark.device, benchmark.threads), []
            ).append(benchmark)

    @property
    def columns(self) -> int:
        return min(len(self), 2 if len(self) <= 4 else 3)

    @property
    def rows(self) -> int:
        return -(-len(self) // self.columns)

    @property
    def contenders(self) -> list[tuple[str, str]]:
        """Framework and variant of all benchmarks, each once."""
        return list(dict.fromkeys((s.framework, s.variant) for s in chain(*self.values())))

    def __str__(self) -> str:
        return listing(self)

    def height(self, each: float, around: float) -> float:
        """In inches: `each` for a row of panels, less if the figure would become too tall."""
        return min(around + each * self.rows, max(TALLEST, 1.9 * self.rows))

    def draw(self, drawn: Canvas, labels: bool) -> Iterator[tuple[Axes, Panel, list[BenchmarkId]]]:
        """Axes with a title for each panel. If `labels`, contenders stand on the y axes, and panels
        of a row share these, so that the names are written once."""
        grid = drawn.subplots(self.rows, self.columns, squeeze=False, sharey=labels)
        for number, (axes, (panel, benchmarks)) in enumerate(
            zip(grid.flat, self.items(), strict=False)
        ):
            where = f"{device(panel.device)}, {count(panel.threads, 'thread')}"
            axes.set_title(f"{panel.workload}\n{where}", fontsize=9.5)
            yield axes, panel, benchmarks
            if number % self.columns:
                axes.set_ylabel("")
        for axes in grid.flat[len(self) :]:
            axes.remove()


def name(framework: str, variant: str) -> str:
    return f"{title(framework)} {variant}"


def milliseconds(axes: Axes, which: str) -> None:
    """A logarithmic axis with plain numbers, several of them even if the axis is short."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    decades = math.log10(high / low)
    between = [1.0] if decades > 3 else [1, 3] if decades > 1.8 else [1, 2, 5]
    if decades < 0.9:
        between = [1, 1.5, 2, 3, 4, 5, 7] if decades > 0.4 else [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]
    axis.set_major_locator(LogLocator(subs=between, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def legend(drawn: Canvas, contenders: Collection[tuple[str, str]], theme: Theme) -> None:
    """A legend above the panels: an entry for each framework and variant, a column for each
    variant."""
    handles = [
        Line2D([], [], color=theme.colour(framework), label=name(framework, variant),
               linestyle=theme.dashes(variant), linewidth=1.8)
        for framework, variant in contenders
    ]  # fmt: skip
    columns = min(len({variant for _, variant in contenders}), 3)
    drawn.legend(handles=handles, loc="outside upper center", ncols=columns, labelcolor=INK)

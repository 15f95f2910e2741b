"""Small multiples: a panel for each workload, device and number of threads."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from analysis.data.results import BenchmarkId, Column, Row
from analysis.format import count, device, listing, short, title
from analysis.report.figures.style import INK, TALLEST, Theme
from analysis.report.prose import NEAR, WORKLOADS, as_long, two, variant, workload

COLUMNS = 2  # three would be too narrow for a phone
ENTRIES, HIGH = 17, 8  # of a legend, and of one of its columns
LABEL = 26  # letters of a name, so that it leaves room for the panels
PLAIN = "default"  # the variant that labels do not name


class Panels(dict[Column, list[BenchmarkId]]):
    """Benchmarks by panel, in their order; two panels side by side."""

    def __init__(self, benchmarks: Iterable[BenchmarkId]) -> None:
        for benchmark in benchmarks:
            self.setdefault(benchmark.column, []).append(benchmark)

    @property
    def columns(self) -> int:
        return min(len(self), COLUMNS)

    @property
    def rows(self) -> int:
        return -(-len(self) // self.columns)

    @property
    def contenders(self) -> list[tuple[str, str]]:
        """Framework and variant of all benchmarks, each once."""
        return list(dict.fromkeys((s.framework, s.variant) for s in chain(*self.values())))

    def __str__(self) -> str:
        return listing(f"{workload(p.workload)} ({p.on})" for p in self)

    def height(self, each: float, around: float) -> float:
        """In inches: `each` for a row of panels, less if the figure would become too tall."""
        return min(around + each * self.rows, max(TALLEST, 1.9 * self.rows))

    def draw(self, drawn: Canvas, labels: bool) -> Iterator[tuple[Axes, Column, list[BenchmarkId]]]:
        """Axes with a title for each panel. If `labels`, contenders are on the y axes, which panels
        of a row share, so that names are written once."""
        grid = drawn.subplots(self.rows, self.columns, squeeze=False, sharey=labels)
        for number, (axes, (panel, benchmarks)) in enumerate(
            zip(grid.flat, self.items(), strict=False)
        ):
            axes.set_title(f"{fitting(workload(panel.workload))}\n{panel.on}")
            yield axes, panel, benchmarks
            if number % self.columns:
                axes.set_ylabel("")
        for axes in grid.flat[len(self) :]:
            axes.remove()

    def align(self, drawn: Sequence[Axes], which: str) -> None:
        """The same limits for all panels of a workload on a device, because they are compared."""
        groups: dict[tuple[str, str], list[Axes]] = {}
        for axes, panel in zip(drawn, self, strict=True):
            groups.setdefault(panel[:2], []).append(axes)
        for group in groups.values():
            ends = [axes.get_xlim() if which == "x" else axes.get_ylim() for axes in group]
            low, high = min(min(pair) for pair in ends), max(max(pair) for pair in ends)
            for axes in group:
                (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)


def curve(
    axes: Axes,
    sizes: Sequence[float],
    ends: Sequence[tuple[float | None, float | None, float | None]],
    colour: str,
    dashes: Any = "-",
) -> None:
    """A line through values, with the band of their intervals. `ends` has each value and the ends
    of its interval, None if there is none."""
    values, low, high = zip(*ends, strict=True)
    if None not in low:
        axes.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(sizes, values, color=colour, marker="o", markersize=3, linewidth=1.4,
              linestyle=dashes)  # fmt: skip


def name(framework: str, own: str) -> str:
    """`PyTorch tuned`; `PyTorch` for the code of its tutorials."""
    return title(framework) if own == PLAIN else f"{title(framework)} {variant(own)}"


def fitting(text: str, letters: int = LABEL) -> str:
    return text if len(text) <= letters else f"{text[: max(letters - 1, 1)]}…"


def who(one: BenchmarkId) -> str:
    return name(one.framework, one.variant)


def where(one: Column | BenchmarkId) -> str:
    """`on the MLP with 2 threads`, `on nets-v2 with 1 thread (GPU)`"""
    article = "the " * (one.workload in WORKLOADS)
    elsewhere = f" ({device(one.device)})" * (not one.on_host)
    return f"on {article}{workload(one.workload)} with {count(one.threads, 'thread')}{elsewhere}"


def apart(ratio: float) -> str:
    """How far two times with a ratio of 1 or more are apart: `12 %`, `a factor of 1.6`."""
    return f"{two(100 * (ratio - 1))} %" if ratio < NEAR else f"a factor of {two(ratio)}"


def than(ratio: float) -> str:
    """`takes 1.9 times as long as`, `takes 6 % longer than`"""
    return f"{as_long(ratio)} {'than' if ratio < NEAR else 'as'}"


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers, several of them even if the axis is short."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    names = (f"get_{which}lim", f"set_{which}scale", f"set_{which}lim")
    limits, scale, limit = (getattr(axes, name) for name in names)
    low, high = limits()
    scale("log")
    if low <= 0:  # a linear axis had room below the least number
        axes.autoscale(axis=which)
        low, high = limits()
    limit(low, high)
    decades = math.log10(high / low)
    between = [1.0] if decades > 2.4 else [1, 3] if decades > 1.3 else [1, 2, 5]
    if decades < 0.7:
        between = [1, 1.5, 2, 3, 4, 5, 7] if decades > 0.4 else [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]
    axis.set_major_locator(LogLocator(subs=between, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def powers(axes: Axes, which: str, most: int = 6) -> None:
    """A logarithmic axis for tiny numbers, with at most so many labels: `1e-12`."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    every = max(1, -(-(last - first + 1) // most))
    ticks = [10.0**n for n in range(first, last + 1) if n % every == 0]
    if last - first < 2:
        ticks += [3 * 10.0**n for n in range(first - 1, last + 1) if low <= 3 * 10.0**n <= high]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_locator(NullLocator())


def first_conditions(lines: Sequence[Row]) -> list[Row]:
    """The lines with the first line's device and threads, because all would not fit."""
    return [line for line in lines if line.id[3:] == lines[0].id[3:]]


def above(axes: Axes, place: float, text: str, side: str = "left", **looks: Any) -> None:
    """Words at one side of a panel, at the height of a row."""
    across = blended_transform_factory(axes.transAxes, axes.transData)
    axes.text(float(side == "right"), place, text, transform=across, ha=side, va="center",
              fontsize=8.5, **looks)  # fmt: skip


def legend(drawn: Canvas, contenders: Collection[tuple[str, str]], theme: Theme) -> None:
    """A legend above the panels: an entry for each framework and variant, a column for each
    variant if they fit."""
    handles = [
        Line2D([], [], color=theme.colour(framework), label=fitting(name(framework, variant)),
               linestyle=theme.dashes(variant), linewidth=1.8)
        for framework, variant in contenders
    ]  # fmt: skip
    variants = len({variant for _, variant in contenders})
    columns = min(max(variants, -(-len(contenders) // HIGH)), 3)
    entries(drawn, handles, columns)


def entries(drawn: Canvas, handles: Sequence[Any], columns: int) -> None:
    """A legend above everything; entries beyond `ENTRIES`, whose looks repeat, are counted."""
    shown = [*handles[:ENTRIES]]
    if more := handles[ENTRIES:]:
        shown.append(Line2D([], [], linestyle="none", label=f"and {len(more)} more"))
    drawn.legend(handles=shown, loc="outside upper center", ncols=columns, labelcolor=INK)

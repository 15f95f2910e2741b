"""Small multiples: a panel for each workload, device and number of threads."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.figures.style import INK, Look
from analysis.study import Seat
from analysis.words import count, device, title

COLUMNS = 2


class Panel(NamedTuple):
    workload: str
    device: str
    threads: int

    def __str__(self) -> str:
        return f"{self.workload}, {device(self.device)}, {count(self.threads, 'thread')}"


def panels(seats: Iterable[Seat]) -> dict[Panel, list[Seat]]:
    """Seats by panel, in their order."""
    found: dict[Panel, list[Seat]] = {}
    for seat in seats:
        found.setdefault(Panel(seat.workload, seat.device, seat.threads), []).append(seat)
    return found


def rows_of(panels: dict[Panel, list[Seat]]) -> int:
    return -(-len(panels) // COLUMNS)


def grid(drawn: Canvas, found: dict[Panel, list[Seat]]) -> Iterator[tuple[Axes, Panel, list[Seat]]]:
    """One set of axes for each panel, titled."""
    columns = min(COLUMNS, len(found))
    axes = drawn.subplots(rows_of(found), columns, squeeze=False)
    for place, (panel, seats) in zip(axes.flat, found.items(), strict=False):
        place.set_title(str(panel))
        yield place, panel, seats
    for place in axes.flat[len(found) :]:
        place.remove()


def milliseconds(axes: Axes, which: str) -> None:
    """Plain numbers on a logarithmic axis, at least two of them."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    decades = np.log10(high / low)
    wanted = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8] if decades < 0.5 else [1, 2, 5]
    axis.set_major_locator(LogLocator(subs=wanted if decades < 2 else [1.0], numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend(drawn: Canvas, seats: Iterable[Seat], look: Look, lines: bool = True) -> None:
    """One entry for each framework and variant, above everything."""
    kinds = dict.fromkeys((seat.framework, seat.variant) for seat in seats)
    handles = [
        Line2D([], [], color=look.colour(framework), label=f"{title(framework)} {variant}",
               linestyle=look.dashes(variant) if lines else "none",  # type: ignore[arg-type]
               marker="" if lines else look.marker(variant), linewidth=1.8)
        for framework, variant in kinds
    ]  # fmt: skip
    drawn.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 2),
                 labelcolor=INK)  # fmt: skip

"""Table 7 of Shi, Wang, Xu and Chu (2016, https://arxiv.org/abs/1608.07249), read from a scan, and
the ratios that follow from it."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from analysis.data.results import grouped

DATA = Path(__file__).parents[1] / "data"
HALF = 0.0005  # seconds: half of the table's last digit
CPUS = ("desktop-cpu", "server-cpu")
LOST = "lost digit"  # note of a cell whose last digit cannot be read: its number is in no ratio


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of `data`, as text."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Cell:
    """Seconds for each mini-batch; None if the cell is empty or cannot be read.

    `threads` is None on a GPU. `note` says what is uncertain about the reading.
    """

    network: str
    batch: int
    tool: str
    device: str
    threads: int | None
    seconds: float | None
    note: str

    @property
    def column(self) -> tuple[str, int | None]:
        return self.device, self.threads

    @property
    def readable(self) -> bool:
        return self.seconds is not None and self.note != LOST

    @property
    def time(self) -> float:
        """Seconds of a readable cell."""
        assert self.seconds is not None
        return self.seconds


@dataclass(frozen=True)
class Over:
    """A cell's time over another's; `low` and `high` are what the table's rounding leaves open."""

    one: Cell
    base: Cell

    @property
    def value(self) -> float:
        return self.one.time / self.base.time

    @property
    def low(self) -> float:
        return (self.one.time - HALF) / (self.base.time + HALF)

    @property
    def high(self) -> float:
        return (self.one.time + HALF) / (self.base.time - HALF)

    @property
    def note(self) -> str:
        return "; ".join(dict.fromkeys(filter(None, (self.one.note, self.base.note))))


@cache
def cells() -> tuple[Cell, ...]:
    return tuple(
        Cell(
            row["network"],
            int(row["batch_size"]),
            row["tool"],
            row["device"],
            int(row["threads"]) if row["threads"] else None,
            float(row["seconds_per_minibatch"]) if row["seconds_per_minibatch"] else None,
            row["note"],
        )
        for row in rows("table7.csv")
    )


def readable() -> list[Cell]:
    return [cell for cell in cells() if cell.readable]


def networks() -> list[str]:
    """In the order of the table."""
    return list(dict.fromkeys(cell.network for cell in cells()))


def columns(found: Iterable[Cell]) -> Iterable[list[Cell]]:
    """The tools of each network, device and number of threads."""
    return grouped(((cell.network, *cell.column), cell) for cell in found).values()


def over_the_fastest() -> list[Over]:
    """Each tool over the fastest one of its column."""
    return [
        Over(cell, min(column, key=lambda one: one.time))
        for column in columns(readable())
        for cell in column
    ]


def tool_over(one: str, base: str) -> list[Over]:
    """One tool over another, in each column that has both."""
    return [
        Over(by_tool[one], by_tool[base])
        for by_tool in ({cell.tool: cell for cell in column} for column in columns(readable()))
        if {one, base} <= by_tool.keys()
    ]


def spreads(tools: Iterable[str] = (), cells: Iterable[Cell] | None = None) -> list[Over]:
    """The slowest tool of each column over the fastest; with `tools`, of these alone."""
    chosen = set(tools)
    own = readable() if cells is None else cells
    kept = [cell for cell in own if not chosen or cell.tool in chosen]
    return [
        Over(max(column, key=lambda one: one.time), min(column, key=lambda one: one.time))
        for column in columns(kept)
        if len(column) > 1
    ]


def threads_over(more: int, fewer: int) -> list[Over]:
    """The time with `more` threads over that with `fewer`, of each tool, network and processor."""
    with_fewer = {(c.network, c.tool, c.device): c for c in readable() if c.threads == fewer}
    return [
        Over(cell, with_fewer[cell.network, cell.tool, cell.device])
        for cell in readable()
        if cell.threads == more and (cell.network, cell.tool, cell.device) in with_fewer
    ]


def processor_over(gpu: str) -> list[Over]:
    """The fastest processor cell of each tool and network over its cell on a GPU."""
    found = []
    for cell in readable():
        if cell.device == gpu:
            own = [
                c
                for c in readable()
                if (c.network, c.tool) == (cell.network, cell.tool) and c.device in CPUS
            ]
            if own:
                found.append(Over(min(own, key=lambda one: one.time), cell))
    return found

"""Tables of the report: fewer columns than the files, rounded, with readable names."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.data.results import BenchmarkId
from analysis.format import alike, crossed

Ends = Sequence[float | None]  # ratio, low, high


@dataclass(frozen=True)
class Table:
    """`columns`: heading, and whether its cells are numbers. `notes`: rows that the table
    leaves out, a line for each reason. `file`: the file that has all columns. `exact`, in a table
    of pairs: for each row its ratio and interval, from which the page's script computes those of
    the reverse."""

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[str]]
    notes: list[tuple[str, str]]
    file: str
    exact: Sequence[Ends] = ()


def estimate(value: float | None, low: float | None, high: float | None) -> list[str]:
    """Two cells: the estimate, and its interval with as many decimals."""
    middle, *ends = alike(value, low, high)
    return [middle, " to ".join(ends) if ends[0] else ""]


def absent(rows: Iterable[Any], reason: Callable[[Any], str]) -> list[tuple[str, str]]:
    """The benchmarks that a table leaves out, with the reason of each, in few words."""
    groups: dict[str, list[BenchmarkId]] = {}
    for row in rows:
        groups.setdefault(reason(row), []).append(row.id)
    return [(crossed(benchmarks), text) for text, benchmarks in groups.items()]

"""Tables of the report: fewer columns than the files, rounded, with readable names."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.format import alike, scientific

Ends = Sequence[float | None]  # ratio, low, high


@dataclass(frozen=True)
class Table:
    """`columns`: heading, and whether its cells are numbers. `file`: the file that has all columns.
    `notes`: rows that the table leaves out, a line for each reason. `exact`, in a table of pairs:
    each row's ratio and interval, which the page's script can invert."""

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[str]]
    file: str
    notes: Sequence[tuple[str, str]] = ()
    exact: Sequence[Ends] = ()


def estimate(value: float | None, low: float | None, high: float | None) -> list[str]:
    """Two cells: the estimate, and its interval with as many decimals."""
    middle, *ends = alike(value, low, high)
    return [middle, " to ".join(ends) if ends[0] else ""]


def column(values: Sequence[float | None], decimals: int | None = None) -> list[str]:
    """The numbers of a column with the same number of decimals: by default, as many as give the
    smallest number two digits and the middle one three."""
    known = sorted(abs(value) for value in values if value and math.isfinite(value))
    if decimals is None and known:
        decimals = max(needed(known[0], 2), needed(known[len(known) // 2], 3))
    return [fixed(value, decimals or 0) for value in values]


def intervals(rows: Iterable[Sequence[float | None]]) -> list[list[str]]:
    """Two cells a row for a ratio and its interval, all with the same decimals: three, or as
    many as give the smallest ratio two digits."""
    rows = list(rows)
    known = [row[0] for row in rows if row[0]]
    decimals = max(3, needed(min(known), 2)) if known else 3
    cells = [[fixed(value, decimals) for value in row] for row in rows]
    return [[middle, f"{low} to {high}" if low else ""] for middle, low, high in cells]


def needed(value: float, digits: int) -> int:
    """The number of decimals that show so many digits of a number."""
    return min(max(digits - 1 - math.floor(math.log10(value)), 0), 9)


def fixed(value: float | None, decimals: int) -> str:
    if value is None:
        return ""
    if not math.isfinite(value) or abs(value) >= 1e7:
        return scientific(value)
    return f"{round(value, decimals) or 0:,.{decimals}f}"

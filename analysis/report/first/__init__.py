"""The first screen of the report, as plain data: the pages draw it, the terminal prints it."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.report.prose import DECLARED


@dataclass(frozen=True)
class Cell:
    """`time` in milliseconds and `relative`, times the fastest of the column, as they are shown
    ("43.7"; "1.3" and a times sign, or "fastest"). `share`: the bar's length, 1 for the slowest of
    the column. `fastest`: as `MatrixLine.first`. `about`: the interval, or why there is no time."""

    time: str
    relative: str = ""
    share: float = 0.0
    fastest: bool = False
    about: str = ""


@dataclass(frozen=True)
class MatrixRow:
    """A framework in one variant; `title` ends with † if its computation is declared to differ.
    There is a cell for each column of the matrix."""

    framework: str
    title: str
    cells: Sequence[Cell]

    @property
    def declared(self) -> bool:
        return self.title.endswith(DECLARED)


@dataclass(frozen=True)
class Matrix:
    """`columns`: the two lines of a heading ("MLP", "1 thread"). `groups`: a variant's title with
    its rows."""

    caption: str
    columns: Sequence[tuple[str, str]]
    groups: Sequence[tuple[str, Sequence[MatrixRow]]]

    def __bool__(self) -> bool:
        return bool(self.groups)


@dataclass(frozen=True)
class Chip:
    """One thing that trust rests on. `mark` is one of ✓ ~ ✗ !; `section` is the title of the
    section that says more, "" for none."""

    mark: str
    heading: str
    text: str
    section: str = ""


@dataclass(frozen=True)
class FirstScreen:
    """`title`: the page's heading; `about`: what was compared, on what, when, with which versions.
    Warnings: a heading of one or two words, and a text that ends with what to do."""

    title: str
    about: str
    warnings: Sequence[tuple[str, str]]
    headline: str
    findings: Sequence[str]
    matrix: Matrix
    strip: Sequence[Chip]

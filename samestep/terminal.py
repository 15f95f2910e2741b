"""Output that all commands share: problems, unknown names, tables."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH = 240  # columns of output that goes to a file or a pipe


class Problem(Exception):
    """Something that the user must fix; the exit status is 2. The message says what is wrong and
    what to do."""


def unknown(kind: str, name: str, known: Iterable[str], where: str = "", more: str = "") -> Problem:
    """A Problem for an unknown name, with the nearest name and all known names."""
    from frameworks.workloads.parsing import suggestion

    names = list(known)
    there = f"there are: {', '.join(names) or 'none'}{more}"
    return Problem(f"no {kind} {name!r}{where}{suggestion(name, names)} ({there})")


def console() -> "Console":
    """A console that prints text unchanged, because texts of others may look like markup."""
    from rich.console import Console

    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = WIDTH
    return found


def table(on: "Console", *headings: str) -> "Table":
    """A table for a terminal, plain columns for a file; the first column is never broken."""
    from rich import box
    from rich.table import Table

    empty = Table(box=box.SIMPLE if on.is_terminal else None, pad_edge=False)
    for number, heading in enumerate(headings):
        empty.add_column(heading, overflow="fold", no_wrap=number == 0)
    return empty

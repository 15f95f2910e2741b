"""Tables for a terminal, or plain columns for a file."""

from rich import box
from rich.console import Console
from rich.table import Table

PLAIN = 240  # columns where there is no terminal that has a width


def console() -> Console:
    found = Console(highlight=False)
    if not found.is_terminal:
        found.width = PLAIN
    return found


def table(on: Console, *headings: str) -> Table:
    """Names, its first column, are never broken."""
    empty = Table(box=box.SIMPLE if on.is_terminal else None, pad_edge=False)
    for number, heading in enumerate(headings):
        empty.add_column(heading, overflow="fold", no_wrap=number == 0)
    return empty

"""The report's first screen, for the terminal of the command that made it."""

import textwrap
from collections.abc import Iterator, Sequence

from analysis.format import titled, unquoted
from analysis.report.first import FirstScreen, Matrix
from analysis.report.first.across import across
from analysis.report.first.grid import BOLD
from analysis.report.first.screen import screen
from analysis.report.layout import Chapter
from analysis.report.sections.comparing.half_width import advice

WIDTH = 80  # columns, of sentences; the matrix may need more
GAP = "   "


def all_lines(chapters: Sequence[Chapter]) -> Iterator[str]:
    """Whether the machines agree, if there are several; then the lines of each machine."""
    with titled(chapters[0].findings.machine.titles):
        yield from wrapped(across([chapter.findings for chapter in chapters]))
    for chapter in chapters:
        yield from lines(chapter)


def lines(chapter: Chapter) -> list[str]:
    """Warnings, the headline, the findings, the matrix, the strip, and how to make ratios more
    precise; below the machine's name if there are several."""
    with titled(chapter.findings.machine.titles):
        shown = screen(chapter)
        more = advice(chapter.findings.machine, chapter.findings.half_widths)
    name = ["", f"{chapter.name}:"] * (chapter.machines > 1)
    return [
        *name,
        *first_screen(shown),
        *([""] if more.sentences else []),
        *wrapped(" ".join(more.sentences)),
        *[f"  {more.command}"] * bool(more.command),
    ]


def first_screen(shown: FirstScreen) -> Iterator[str]:
    for heading, text in shown.warnings:
        yield ""
        yield from wrapped(f"{heading}: {unquoted(text)}")
    yield ""
    yield from wrapped(shown.headline)
    for text in shown.findings:
        yield from wrapped(text, "- ")
    if shown.matrix:
        yield ""
        yield from aligned(shown.matrix)
    yield ""
    for chip in shown.strip:
        yield from wrapped(f"{chip.heading}: {chip.text}", f"{chip.mark} ")


def wrapped(text: str, first: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def aligned(found: Matrix) -> Iterator[str]:
    """The matrix in columns: a time, and how many times the fastest it is."""
    over = [column[0] for column in found.columns]
    under = [column[1] for column in found.columns]
    body = [
        (title, [[cell_text(cell.time, cell.relative) for cell in row.cells] for row in rows],
         [row.title for row in rows])
        for title, rows in found.groups
    ]  # fmt: skip
    names = max(len(name) + 2 for _, _, held in body for name in held)
    widths = [
        max(len(over[n]), len(under[n]), *(len(row[n]) for _, rows, _ in body for row in rows))
        for n in range(len(found.columns))
    ]
    for heading in (over, under):
        yield aligned_line("", heading, names, widths)
    for title, rows, held in body:
        yield title
        for name, row in zip(held, rows, strict=True):
            yield aligned_line(f"  {name}", row, names, widths)
    yield ""
    yield from wrapped(" ".join(found.caption.replace(BOLD, "").split()))


def aligned_line(name: str, cells: list[str], first: int, widths: list[int]) -> str:
    rest = [text.ljust(width) for text, width in zip(cells, widths, strict=True)]
    return GAP.join([name.ljust(first), *rest]).rstrip()


def cell_text(time: str, relative: str) -> str:
    return f"{time or '-':>6} {relative}".rstrip()

"""Writes the report: pages from its sections, tables and figures as files."""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.data.results import Machine
from analysis.findings.findings import Findings, tables
from analysis.format import markdown_cell, titled
from analysis.report.caveats.registry import caveats
from analysis.report.contents import SECTIONS
from analysis.report.figures.style import Figure, Theme
from analysis.report.first import FirstScreen
from analysis.report.first.across import across
from analysis.report.first.picture import picture
from analysis.report.first.screen import screen
from analysis.report.layout import Block, Blocks, Chapter, File, Section, StudySection
from analysis.report.markup import (
    anchor,
    fence,
    for_fence,
    for_html,
    for_markdown,
    numbers,
    packed,
    variable,
)
from analysis.report.tables import Table
from workflows.records.whole_files import write_together

TEMPLATES = Path(__file__).parent / "templates"
# What a brief report says instead of a link to a large table.
LARGE = ("[settings.csv](tables/settings.csv)", "`samestep report` writes `settings.csv`")


class Shown(NamedTuple):
    """A section as the pages show it. `chapters` has its blocks with the machines' names, "" if
    there is one machine, if all have the same blocks, or if the section is about the study. With
    `inside` it is folded. `first`: it comes before the machines."""

    title: str
    anchor: str
    about: str
    inside: str
    in_markdown: bool
    first: bool
    chapters: list[tuple[str, list[Block]]]


def write(
    machines: Sequence[Machine], out: Path, brief: bool = False, further: Sequence[Section] = ()
) -> list[Chapter]:
    """Write tables, figures and pages to `out`, the HTML page last, and remove figures and
    tables of an earlier rendering that this rendering does not have.

    `brief`: only report.md and the files that it shows or links, without the table of settings,
    which is larger than all others together. For several machines, only the first screens and the
    sections between machines. `further` sections come before the last one.
    """
    titles = {name: title for machine in machines for name, title in machine.titles.items()}
    with titled(titles):
        chapters, files = render(machines, brief, further)
    for folder in (out / "tables", out / "figures"):
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "this leads elsewhere: remove it", str(folder))
    again = (out / "report.md").exists()  # else all files there are somebody's own
    # A full disk leaves the report of before.
    write_together({out / name: content for name, content in reversed(files.items())})
    for pattern in ("tables/*.csv", "figures/*.svg", "figures/*.png") if again else ():
        for path in out.glob(pattern):
            if path.relative_to(out).as_posix() not in files:
                path.unlink()
    return chapters


def render(
    machines: Sequence[Machine], brief: bool = False, further: Sequence[Section] = ()
) -> tuple[list[Chapter], dict[str, str]]:
    """Chapters, and the content of every file by its path in the report's folder."""
    found = [Findings(machine) for machine in machines]
    theme = Theme.of(
        benchmark
        for findings in found
        for benchmark in findings.availability
        if findings.machine.compares(benchmark)
    )
    chapters = [
        Chapter(findings, theme, len(found), caveats(findings, len(found))) for findings in found
    ]
    sections = list(show(chapters, brief, further))
    data = {f"{name}.csv": text for name, text in tables(found).items()}
    files: dict[str, str] = {f"tables/{name}": text for name, text in data.items()}
    screens = [screen(chapter) for chapter in chapters]
    files |= pages(chapters, screens, sections, data, brief)
    page = files["report.md"].replace(*LARGE) if brief else ""
    figures = [block for block in blocks(sections) if isinstance(block, Figure)]
    for figure in [*figures, *pictures(chapters, screens)]:
        if not brief or f"](figures/{figure.name}.svg)" in page:
            files |= {f"figures/{name}": content for name, content in figure.files.items()}
    if brief:
        files = {name: text for name, text in files.items() if f"]({name})" in page}
        files["report.md"] = page
    return chapters, files


def pictures(chapters: Sequence[Chapter], screens: Sequence[FirstScreen]) -> Iterator[Figure]:
    """The matrix of each first screen, which the page itself has as a table."""
    for chapter, shown in zip(chapters, screens, strict=True):
        if figure := chapter.figure(partial(picture, shown), "matrix"):
            yield figure


def show(
    chapters: Sequence[Chapter], brief: bool = False, further: Sequence[Section] = ()
) -> Iterator[Shown]:
    """The sections that have any block; of a `brief` report, those of report.md."""
    for section in (*SECTIONS[:-1], *further, SECTIONS[-1]):
        inside, about, first, in_markdown = "", "", False, False
        if isinstance(section, StudySection):
            if brief and not section.first:
                continue
            first = section.first
            found = [("", present(section.blocks(chapters)))]
            inside = section.inside
        else:
            if brief and not (section.in_markdown and len(chapters) == 1):
                continue
            about = section.about
            in_markdown = section.in_markdown
            shown = [(chapter, present(section.blocks(chapter))) for chapter in chapters]
            alike = all(own == shown[0][1] for _, own in shown)  # shown once for all machines
            found = [("" if alike else chapter.name, own) for chapter, own in shown]
            found = found[:1] if alike else found
            if section.inside:
                lines = [(chapter.name, section.inside(chapter)) for chapter, own in shown if own]
                inside = lines[0][1] if lines else ""
                if len({line for _, line in lines}) > 1 or len(lines) < len(chapters):
                    inside = " ".join(f"{name}: {line}" for name, line in lines if line)
                # A machine without a line needs its section open.
                inside *= all(line for _, line in lines)
        if kept := [(name, own) for name, own in found if own]:
            name = anchor(section.title)
            yield Shown(section.title, name, about, inside, in_markdown, first, kept)


def present(blocks: Blocks) -> list[Block]:
    return [block for block in blocks if block]


def blocks(sections: Sequence[Shown]) -> list[Block]:
    return [block for section in sections for _, own in section.chapters for block in own]


def pages(
    chapters: Sequence[Chapter],
    screens: Sequence[FirstScreen],
    sections: Sequence[Shown],
    data: Mapping[str, str],
    brief: bool,
) -> dict[str, str]:
    several = len(chapters) > 1
    folders = {chapter.findings.machine.study.name for chapter in chapters}
    words: dict[str, Any] = {
        "study": chapters[0].findings.machine.study,
        "folder": folders.pop() if len(folders) == 1 else "FOLDER",
        "screens": [
            (chapter.name * several, shown)
            for chapter, shown in zip(chapters, screens, strict=True)
        ],
        "across": across([chapter.findings for chapter in chapters]),
        "sections": sections,
        "brief": brief,
        "data": embedded(screens, sections, data),
        "theme": chapters[0].theme,
        "label": Labels(blocks(sections)),
        "svg": lambda figure: Markup(figure.inline),  # our own drawing, which escapes its text
    }
    written: dict[str, str] = {}
    for name, escape in (("report.md", False), ("report.html", True))[: 1 if brief else 2]:
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            undefined=StrictUndefined,
            autoescape=escape,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=for_html if escape else for_markdown,
        )
        environment.filters["kind"] = lambda block: type(block).__name__.lower()
        environment.filters |= {
            "cell": markdown_cell, "fence": fence, "fenced": for_fence, "anchor": anchor,
            "packed": packed, "variable": variable, "numbers": numbers,
        }  # fmt: skip
        environment.globals |= words
        text = environment.get_template(f"{name}.j2").render()
        written[name] = text.strip() + "\n"
    return written


def embedded(
    screens: Sequence[FirstScreen], sections: Sequence[Shown], data: Mapping[str, str]
) -> dict[str, str]:
    """The tables' files that the page holds, so that a reader of the page alone can save them."""
    first = ["matrix.csv"] * any(bool(shown.matrix) for shown in screens)
    shown = dict.fromkeys([*first, *filter(None, map(file_of, blocks(sections)))])
    return {name: data[name] for name in shown}


def file_of(block: Block) -> str:
    match block:
        case Table(file=name) | File(name=name):
            return name
    return ""


class Label(NamedTuple):
    """`Figure 3`, and the id of its element."""

    text: str
    id: str


class Labels:
    """The labels of all figures and tables of a page, counted from its first block to its last, so
    that people can cite them and link to them. A brief page counts its own alone."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.labels: dict[int, Label] = {}
        for block in blocks:
            shown = block
            if isinstance(shown, Figure):
                self.add(shown, "Figure", f"fig-{shown.name}")
            elif isinstance(shown, Table):
                self.add(shown, "Table", f"table-{shown.file.removesuffix('.csv')}")

    def add(self, block: Figure | Table, kind: str, name: str) -> None:
        number = 1 + sum(label.text.startswith(kind) for label in self.labels.values())
        own = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        taken = {label.id for label in self.labels.values()}
        found = own
        while found in taken:
            found = f"{own}-{int(found[len(own) + 1 :] or 1) + 1}"
        self.labels[id(block)] = Label(f"{kind} {number}", found)

    def __call__(self, block: Figure | Table) -> Label:
        return self.labels[id(block)]

"""Writes the report: pages from its sections, tables and figures as files."""

import html
import re
from collections.abc import Iterator, Sequence
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
from analysis.report.layout import Chapter, Part, Parts, Rich, StudySection
from analysis.report.sections.controls import control_summary
from analysis.report.sections.movement import when_and_where
from workflows.records.storage import atomic

TEMPLATES = Path(__file__).parent / "templates"


class Shown(NamedTuple):
    """A section as the pages show it: its parts below the names of the machines, "" if there
    is one machine or the section is about the study."""

    title: str
    anchor: str
    about: str
    boxed: bool
    chapters: list[tuple[str, list[Part]]]


def write(machines: Sequence[Machine], out: Path) -> list[Chapter]:
    """Write tables, figures and pages to `out`, the HTML page last, and remove figures and
    tables of an earlier rendering that this rendering does not have."""
    titles = {name: title for machine in machines for name, title in machine.titles.items()}
    with titled(titles):
        chapters, files = render(machines)
    for name, content in files.items():
        with atomic(out / name) as temporary:
            data = content if isinstance(content, bytes) else content.encode()
            temporary.write_bytes(data)
    for pattern in ("tables/*.csv", "figures/*.svg", "figures/*.png"):
        for path in out.glob(pattern):
            if path.relative_to(out).as_posix() not in files:
                path.unlink()
    return chapters


def render(machines: Sequence[Machine]) -> tuple[list[Chapter], dict[str, str | bytes]]:
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
    sections = list(show(chapters))
    files: dict[str, str | bytes] = {}
    for name, text in tables(found).items():
        files[f"tables/{name}.csv"] = text
    for figure in figures(sections):
        files[f"figures/{figure.name}.svg"] = figure.file
        files[f"figures/{figure.name}.png"] = figure.png
    return chapters, files | pages(chapters, sections)


def show(chapters: Sequence[Chapter]) -> Iterator[Shown]:
    """The sections that have any part."""
    for section in SECTIONS:
        if isinstance(section, StudySection):
            about, boxed = "", section.boxed
            found = [("", present(section.parts(chapters)))]
        else:
            about, boxed = section.about, False
            found = [
                (chapter.name if len(chapters) > 1 else "", present(section.parts(chapter)))
                for chapter in chapters
            ]
        if kept := [(name, parts) for name, parts in found if parts]:
            anchor = section.title.lower().replace(" ", "-")
            yield Shown(section.title, anchor, about, boxed, kept)


def present(parts: Parts) -> list[Part]:
    return [part for part in parts if part]


def figures(sections: Sequence[Shown]) -> list[Figure]:
    shown = (part for one in sections for _, parts in one.chapters for part in parts)
    return [part for part in shown if isinstance(part, Figure)]


def pages(chapters: Sequence[Chapter], sections: Sequence[Shown]) -> dict[str, str | bytes]:
    words: dict[str, Any] = {
        "study": chapters[0].findings.machine.study,
        "first": [
            (
                f" ({chapter.name})" * (len(chapters) > 1),
                chapter.warnings,
                control_summary(chapter.findings),
                when_and_where(chapter.findings),
            )
            for chapter in chapters
        ],
        "sections": sections,
    }
    written: dict[str, str | bytes] = {}
    for name, escape in (("report.md", False), ("report.html", True)):
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            undefined=StrictUndefined,
            autoescape=escape,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=for_html if escape else for_markdown,
        )
        environment.filters["kind"] = lambda part: type(part).__name__.lower()
        environment.filters["cell"] = markdown_cell
        environment.globals["svg"] = lambda figure: Markup(figure.inline)  # our own drawing
        text = environment.get_template(f"{name}.j2").render(words)
        written[name] = text.strip() + "\n"
    return written


def for_html(value: Any) -> Any:
    """Keep `3 %`, `400 MB` and `1e-12` on one line, and turn the marks of rich text to tags."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    rich = isinstance(value, Rich)
    value = html.escape(value, quote=False) if rich else value
    value = re.sub(r"(?<=\d) (?=(%|[kMGT]?B|[kMGT]?FLOP)\b|%)", "\u00a0", value)
    value = re.sub(r"(?<=\d)e-(?=\d)", "e-\u2060", value)
    if not rich:
        return value
    value = re.sub(r"`([^`]+)`", r"<code>\1</code>", value)
    return Markup(re.sub(r"\*([A-Za-z ]+)\*", r"<i>\1</i>", value))


def for_markdown(value: Any) -> Any:
    """Text on one line, without a tag or a link of its own."""
    if isinstance(value, Markup):
        return value
    return re.sub(r"\s*[\r\n]+\s*", " ", str(value)).replace("](", "]\\(").replace("<", "&lt;")

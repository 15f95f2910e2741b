"""The report's first screen, for the terminal of the command that made it."""

from analysis.format import titled
from analysis.report.layout import Chapter
from analysis.report.sections.answer import claims, summary
from analysis.report.sections.controls import control_summary
from analysis.report.sections.movement import when_and_where
from analysis.report.sections.pitfalls import pitfall_summary
from analysis.report.sections.precision import advice


def lines(chapter: Chapter) -> list[str]:
    """The warnings, when and where it was measured, the self-test, the answer,
    and how to make it more precise; below the machine's name if there are several."""
    with titled(chapter.findings.machine.titles):
        return first_screen(chapter)


def first_screen(chapter: Chapter) -> list[str]:
    findings, machine = chapter.findings, chapter.findings.machine
    pitfalls = pitfall_summary(findings.pitfalls)
    more = advice(machine, findings.precision)
    return [
        *["", f"{machine.name}:"] * (chapter.machines > 1),
        *spaced([f"{one.heading}: {one.text}" for one in chapter.warnings]),
        *spaced([f"Measured: {when_and_where(findings)}"]),
        *spaced([f"Self-test: {control_summary(findings)}"]),
        *spaced([pitfalls] * bool(pitfalls)),
        *spaced(summary(machine, findings.comparisons)),
        *spaced([f"- {claim}" for claim in claims(machine, findings.comparisons)]),
        *spaced(more.sentences + [f"  {more.command}"] * bool(more.command)),
    ]


def spaced(paragraph: list[str]) -> list[str]:
    """The lines after an empty line, if there are any."""
    return [""] * bool(paragraph) + paragraph

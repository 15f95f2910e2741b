"""The first screen of one machine."""

from analysis.report.first import Chip, FirstScreen, Matrix
from analysis.report.layout import Chapter
from analysis.report.sections.answer import summary
from analysis.report.sections.controls import control_summary
from analysis.report.sections.movement import when_and_where


def screen(chapter: Chapter) -> FirstScreen:
    findings = chapter.findings
    return FirstScreen(
        findings.machine.study.title,
        when_and_where(findings),
        [(warning.heading, warning.text) for warning in chapter.warnings],
        "",
        summary(findings.machine, findings.comparisons),
        Matrix("", [], []),
        [Chip("", "Self-test", control_summary(findings))],
    )

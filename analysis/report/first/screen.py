"""The first screen of one machine."""

from analysis.report.first import FirstScreen
from analysis.report.first.grid import matrix
from analysis.report.first.header import about, heading
from analysis.report.first.headline import headline
from analysis.report.first.sentences import sentences
from analysis.report.first.trust import strip
from analysis.report.layout import Chapter


def screen(chapter: Chapter) -> FirstScreen:
    findings = chapter.findings
    return FirstScreen(
        heading(findings),
        about(findings),
        [(warning.heading, warning.text) for warning in chapter.warnings],
        headline(findings),
        sentences(findings),
        matrix(findings),
        strip(chapter),
    )

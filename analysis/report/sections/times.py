"""What each contender took: its times, its way to steady state, its start, and its devices."""

from analysis.report.figures.distributions import distributions
from analysis.report.figures.parts import parts
from analysis.report.figures.series import series
from analysis.report.layout import Chapter, Paragraph, Parts, Section
from analysis.report.sections.start import start_summary, start_table
from analysis.report.tables import contender_table, device_table, steady_table


def times(chapter: Chapter) -> Parts:
    findings = chapter.findings
    return [
        contender_table(findings),
        chapter.figure(distributions),
        chapter.figure(series),
        steady_table(findings),
        start_table(findings),
        Paragraph(start_summary(findings)),
        chapter.figure(parts),
        device_table(findings),
    ]


SECTION = Section("Times", times)

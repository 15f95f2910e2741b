"""The ratios, how precise they are, and what the controls and the interference say of them."""

from analysis.report.figures.ratios import ratios
from analysis.report.layout import Chapter, Commands, File, Paragraph, Parts, Section
from analysis.report.sections.controls import control_table
from analysis.report.sections.interference import weather, weather_table
from analysis.report.sections.precision import advice
from analysis.report.tables import comparison_table


def comparisons(chapter: Chapter) -> Parts:
    findings = chapter.findings
    return [
        chapter.figure(ratios),
        comparison_table(findings),
        *precision(chapter),
        control_table(findings),
        Paragraph(weather(findings)),
        weather_table(findings),
    ]


def precision(chapter: Chapter) -> Parts:
    found = advice(chapter.findings.machine, chapter.findings.precision)
    if not found.sentences:
        return []
    return [
        Paragraph(" ".join(found.sentences), opening="How precise that is."),
        Commands([found.command]),
        File("precision.csv"),
    ]


SECTION = Section("Comparisons", comparisons)

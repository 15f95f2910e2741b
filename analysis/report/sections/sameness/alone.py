"""An A/A study: each contender compared with a second copy of itself."""

from analysis.findings.controls import expected_misses, judged, missed
from analysis.findings.findings import Findings
from analysis.format import count
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import contender, place, share
from analysis.report.sections.sameness.controls import control_table, distance


def alone_summary(findings: Findings) -> str:
    """How many intervals contain 1, and the largest difference that was measured."""
    rows, confidence = findings.controls, findings.machine.study.confidence
    tried = judged(rows)
    if not tried:
        return "No pair could be judged: two replicates at least are needed."
    right = len(tried) - len(missed(rows))
    most = max(tried, key=distance)
    return (
        f"In {right} of {count(len(tried), 'pair')} the interval contains 1. By chance alone, "
        f"about {expected_misses(rows, confidence):.2g} would not. The largest measured "
        f"difference is {share(distance(most))}: {contender(most.original)} on {place(most.id)}."
    )


def alone(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    if not findings.machine.alone:
        return []
    return [Paragraph(alone_summary(findings), style="lead"), control_table(findings)]


SECTION = Section(
    "Each contender against itself",
    alone,
    about="In an A/A study each contender runs beside a second, identical copy, its twin. The true "
    "ratio is 1, and no framework is compared with another.",
    in_markdown=True,
)

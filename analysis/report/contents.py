"""The sections of a report, from the first to the last."""

from analysis.report.layout import Section, StudySection
from analysis.report.sections import (
    answer,
    appendix,
    certificates,
    comparisons,
    method,
    movement,
    pairs,
    pitfalls,
    times,
)

SECTIONS: tuple[Section | StudySection, ...] = (
    pitfalls.SECTION,
    answer.ANSWER,
    answer.READING,
    comparisons.SECTION,
    pairs.SECTION,
    movement.SECTION,
    times.SECTION,
    certificates.SECTION,
    method.SECTION,
    appendix.CAVEATS,
    appendix.SETTINGS,
    appendix.MISSING,
    appendix.MACHINE,
    appendix.AGAIN,
)

"""The sections of a report, from the first to the last."""

from analysis.report.layout import Section, StudySection
from analysis.report.sections.comparing import (
    comparisons,
    movement,
    pairs,
    parts,
    scaling,
    steps,
    variants,
    why,
    workloads,
)
from analysis.report.sections.measuring import (
    again,
    interference,
    machine,
    method,
    missing,
    start,
    threats,
    times,
    use,
)
from analysis.report.sections.sameness import (
    alone,
    certificates,
    controls,
    differences,
    equal,
    pitfalls,
)

SECTIONS: tuple[Section | StudySection, ...] = (
    pitfalls.SECTION,
    steps.SECTION,
    parts.SECTION,
    alone.SECTION,
    comparisons.SECTION,
    why.SECTION,
    differences.SECTION,
    differences.OWN,
    pairs.SECTION,
    variants.SECTION,
    workloads.SECTION,
    scaling.THREADS,
    scaling.DEVICES,
    movement.SECTION,
    start.SECTION,
    certificates.SECTION,
    controls.SECTION,
    times.SECTION,
    use.SECTION,
    interference.SECTION,
    method.SECTION,
    equal.SECTION,
    threats.SECTION,
    missing.SECTION,
    machine.SECTION,
    again.AGAIN,
)

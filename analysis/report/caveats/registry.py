"""The list of all caveats, the most serious first."""

from collections.abc import Callable, Iterator

from analysis.findings.findings import Findings
from analysis.report.caveats import certificates, controls, noise, study, surroundings
from analysis.report.layout import Caveat, note

OTHERS = "Measure on another, and give the report the folders of both."

# The most serious first. To add a caveat, write a function and list it here.
LOOKS: tuple[Callable[[Findings], Iterator[Caveat]], ...] = (
    study.smoke,
    study.stand_in,
    study.nothing_measured,
    study.other_reference,
    controls.misses,
    controls.strange,
    certificates.refused,
    certificates.compared_in_part,
    noise.no_steady_state,
    noise.off_the_clock,
    noise.other_cores,
    noise.computed_elsewhere,
    noise.faster_than_arithmetic,
    noise.faster_than_memory,
    noise.processor_time,
    noise.taken_up,
    certificates.mismatched,
    noise.interference,
    study.failed,
    study.not_measured,
    study.few_replicates,
    certificates.uncertified,
    certificates.other_optimisers,
    certificates.hidden,
    certificates.unrecorded,
    certificates.changed_settings,
    study.losses,
    study.random_words,
    noise.scatter,
    noise.starved,
    noise.switched,
    surroundings.virtual_machine,
    surroundings.boots,
    surroundings.pages,
    surroundings.frequency,
    surroundings.code,
    surroundings.versions,
)


def caveats(findings: Findings, machines: int) -> list[Caveat]:
    """All caveats of one machine of `machines`, the most serious first."""
    found = [caveat for look in LOOKS for caveat in look(findings)]
    if machines == 1:
        found.append(note("This is one machine; ratios differ between machines.", OTHERS))
    return sorted(found, key=lambda caveat: -caveat.severity)

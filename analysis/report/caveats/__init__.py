"""What weakens the conclusions, each said only because it was seen in the records."""

from collections.abc import Callable, Iterator

from analysis.findings.findings import Findings
from analysis.report.caveats import noise, proof, study, surroundings

LOOKS: tuple[Callable[[Findings], Iterator[str]], ...] = (
    study.smoke,
    study.stand_in,
    proof.refused,
    study.gaps,
    study.other_reference,
    study.few_replicates,
    proof.deviations,
    proof.otherwise_timed,
    proof.uncertified,
    proof.other_optimisers,
    proof.unequal,
    study.losses,
    noise.weather,
    noise.scatter,
    noise.restless,
    noise.unsteady,
    noise.starved,
    noise.switched,
    surroundings.virtual_machine,
    surroundings.boots,
    surroundings.pages,
    surroundings.frequency,
    surroundings.code,
    surroundings.versions,
)


def weaknesses(findings: Findings, machines: int) -> list[str]:
    """In the order of their weight."""
    found = [told for look in LOOKS for told in look(findings)]
    if machines == 1:
        found.append("One machine: nothing here says that the ratios hold on another.")
    return found

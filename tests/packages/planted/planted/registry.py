"""What a planted defect is, and the list of all: a function that spoils a trainer that was right.

The functions import their framework themselves, so that the list can be read without it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from frameworks.contract import Deviation


@dataclass(frozen=True)
class Defect:
    """`caught_by` names the check that must refuse it on `workload` (one of those of
    tests/defects/catching.py), and `message` is a regular expression for what it must say."""

    name: str
    summary: str
    theme: str
    framework: str
    base: str  # variant of the framework's own adapter that it was planted in
    workload: str
    caught_by: str
    message: str
    deviations: tuple[Deviation, ...]
    plant: Callable[[Any], None]


DEFECTS: dict[tuple[str, str], Defect] = {}  # by framework and variant


def defect(
    workload: str,
    caught_by: str,
    message: str,
    *,
    framework: str = "planted",
    base: str = "default",
    declared: float | None = None,
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Put a function on the list, under its own name; its docstring is the summary.
    `declared`: the variant declares that Adam deviates, its loss by so much."""

    def enter(plant: Callable[[Any], None]) -> Callable[[Any], None]:
        name = plant.__name__.replace("_", "-")
        summary = " ".join((plant.__doc__ or "").split())
        deviations = ()
        if declared is not None:
            deviations = (Deviation("optimiser.adam", "another epsilon", loss_within=declared),)
        DEFECTS[framework, name] = Defect(
            name,
            summary,
            plant.__module__.rpartition(".")[2],
            framework,
            base,
            workload,
            caught_by,
            message,
            deviations,
            plant,
        )
        return plant

    return enter

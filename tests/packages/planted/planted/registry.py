"""The list of planted defects: functions that each spoil a right trainer in one way.

The functions import their framework themselves, so that the list can be read without it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from frameworks.contract import Deviation, Setting

Plant = Callable[[Any], None]  # spoils the trainer that it is given


@dataclass(frozen=True)
class Defect:
    """What the certificate and the probes must say of it.

    `caught_by` names the check that must refuse it on `workload` (of tests/defects/workloads.py),
    and `message` is a regular expression for what that check must say. `probes` are the answers
    of the harness's probes, by the workload that they are asked about: `mnist-cnn`, `lstm`, `mlp`,
    or the latter with `rmsprop` or `momentum`.
    """

    name: str
    summary: str
    theme: str
    framework: str
    base: str  # variant of the framework's own adapter that it was planted in
    workload: str
    caught_by: str
    message: str
    deviations: tuple[Deviation, ...]
    probes: dict[str, dict[str, Setting]]
    plant: Plant


DEFECTS: dict[tuple[str, str], Defect] = {}  # by framework and variant
REASONS = {  # of what is declared, by component
    "optimiser.adam": "another epsilon",
    "optimiser.momentum": "another velocity",
    "state.batch_norm.variance": "another average",
}


def defect(
    workload: str,
    caught_by: str,
    message: str,
    *,
    framework: str = "planted",
    base: str = "default",
    declared: float | None = None,
    mistake: str = "",
    component: str = "optimiser.adam",
) -> Callable[[Plant], Plant]:
    """Put a function on the list, under its own name; its docstring is the summary.

    `declared`: the variant declares that Adam or another `component` deviates, by how much, and as
    which `mistake`.
    """

    def enter(plant: Plant) -> Plant:
        name = plant.__name__.replace("_", "-")
        summary = " ".join((plant.__doc__ or "").split())
        deviations = ()
        if declared is not None:
            deviations = (Deviation(component, REASONS[component], declared, mistake, declared),)
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
            {},
            plant,
        )
        return plant

    return enter


def shows(workload: str, **answers: Setting) -> Callable[[Plant], Plant]:
    """Add what the probes answer about a planted defect; written above `defect`."""

    def enter(plant: Plant) -> Plant:
        (found,) = (one for one in DEFECTS.values() if one.plant is plant)
        found.probes[workload] = answers
        return plant

    return enter


def replaced(modules: Iterable[Any], forward_of: Callable[[Any], Callable[..., Any]]) -> None:
    """Each module's forward pass becomes `forward_of(module)`."""
    for module in modules:
        module.forward = forward_of(module)

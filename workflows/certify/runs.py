"""The parts of a certificate: what is trained, for how long, and where weights are kept."""

from dataclasses import dataclass
from typing import Any

from frameworks.workloads import Workload, narrowed
from frameworks.workloads.optimisers import OPTIMISERS
from workflows.planning.configuration import CertificateEntry

WEIGHTS_AT = (0, 1, 2, 5, 10, 100, 500)  # steps after which every tensor is compared
RESTARTED = 10  # steps repeated after a restart, and taken in float32
# Learning rates that are powers of two, which no framework can round, and small enough that
# hundreds of steps do not blow rounding up: RMSprop's first ones are 3 times its rate long.
PROVEN = {
    "sgd": {"learning_rate": 2.0**-7},
    "momentum": {"learning_rate": 2.0**-7},
    "rmsprop": {"learning_rate": 2.0**-13},
    "adam": {"learning_rate": 2.0**-10},
}
PLAIN_SGD = {"sgd": PROVEN["sgd"]}
# So large that the step is all there is to see in the weights: their difference, divided by
# it, is the gradient to the last digit or two, in float32 too.
GRADIENT_SGD = {"sgd": {"learning_rate": 2.0**19}}


@dataclass(frozen=True)
class Part:
    """One run of training. `narrow`: on the narrow copy of the workload. `optimiser`: in
    place of the workload's own. `restart`: steps to repeat after a restart."""

    narrow: bool
    steps: int
    weights_at: tuple[int, ...]
    optimiser: dict[str, Any] | None = None
    restart: int = 0


def parts(workload: Workload, asked: CertificateEntry) -> dict[str, Part]:
    """By name: `long`, and `full` where `long` is of a narrower copy; `substituted` and
    `substituted_full`, the same with plain SGD; and `long` with each of the other optimisers
    asked for, by the optimiser's kind."""
    narrow = narrowed(workload) != workload
    at = weights_at(asked.steps)
    found = {
        "long": Part(narrow, asked.steps, at, restart=min(RESTARTED, asked.steps)),
        "substituted": Part(narrow, asked.steps, at, PLAIN_SGD),
    }
    if narrow:
        found["full"] = Part(False, asked.full_steps, (asked.full_steps,))
        found["substituted_full"] = Part(False, asked.full_steps, (asked.full_steps,), PLAIN_SGD)
    own = workload.optimiser.kind
    for kind in asked.optimisers:
        if kind != own:
            found[kind] = Part(narrow, asked.steps, at, {kind: PROVEN[kind]})
    return found


def timed_part(parts: dict[str, Part]) -> Part:
    """The first steps of the long run, for float32."""
    steps = parts["long"].restart
    return Part(parts["long"].narrow, steps, (steps,), restart=steps)


def weights_at(steps: int) -> tuple[int, ...]:
    return (*(step for step in WEIGHTS_AT if step < steps), steps)


def others(parts: dict[str, Part]) -> list[str]:
    """The parts that are about other optimisers than the workload's."""
    return [name for name in parts if name in OPTIMISERS]

"""A mistake in a training step: its description, and a trainer that makes it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from frameworks.oracle.trainer import OracleTrainer
from frameworks.workloads import Weights, Workload, WorkloadError

# A trainer that goes wrong, or a function that gives the right trainer another workload.
How = type[OracleTrainer] | Callable[[Workload], Workload]


@dataclass(frozen=True)
class Mistake:
    """`says` completes "it trains exactly like one that ..."; `mend` says what to check."""

    name: str
    says: str
    mend: str
    how: How

    def trainer(self, workload: Workload, weights: Weights) -> OracleTrainer | None:
        """A trainer that makes the mistake; None if the mistake does not fit this workload."""
        if isinstance(self.how, type):
            trainer: OracleTrainer = self.how(workload, weights)
            return trainer
        try:
            changed = self.how(workload)
        except WorkloadError:
            return None
        if changed == workload or changed.parameter_shapes != workload.parameter_shapes:
            return None
        if changed.output_shape != workload.output_shape:  # which the targets do not fit
            return None
        return OracleTrainer(changed, weights)


CATALOGUE: dict[str, Mistake] = {}


def mistake(name: str, says: str, mend: str) -> Callable[[Any], Any]:
    """Add the decorated class or function to the catalogue."""

    def add(how: How) -> How:
        assert name not in CATALOGUE, name
        CATALOGUE[name] = Mistake(name, says, mend, how)
        return how

    return add

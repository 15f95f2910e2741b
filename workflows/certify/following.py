"""A declared mistake, followed to the end: plain NumPy makes it in every step of the long run.

A deviation that is declared is exactly that. What else a contender does differently (a schedule, a
skipped update, another loss) leads it away from NumPy, however small it is at first.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.workloads import Weights, Workload
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.parsing import suggestion
from workflows.certify.judge import Uncanonical, compare
from workflows.certify.runs import Result
from workflows.records.schema import Measured
from workflows.worker import training


def against(
    own: Result, mistakes: Sequence[str], workload: Workload, folder: Path
) -> Measured | None:
    """How far a run is from NumPy's with one of the mistakes, the closest; None without mistakes.

    `folder` has the workload's mini-batches and initial weights.

    Raises:
        Uncanonical: there is no such mistake.
    """
    found = [
        compare(own, right)
        for mistake in mistakes
        if (right := mistaken(mistake, workload, folder, len(own.losses), tuple(own.weights)))
    ]
    return min(found, key=lambda one: one.worst_loss, default=None)


@lru_cache(maxsize=4)  # contenders that differ in threads only follow one another
def mistaken(
    name: str, workload: Workload, folder: Path, steps: int, at: tuple[int, ...]
) -> Result | None:
    """NumPy's run with a mistake; None if the mistake does not fit the workload."""
    if name not in CATALOGUE:
        raise Uncanonical(
            f"its Deviation names the mistake {name!r}{suggestion(name, CATALOGUE)}: "
            "docs/extending.md lists the names"
        )
    weights = initial(workload, folder)
    trainer = CATALOGUE[name].trainer(workload, weights)
    return in_numpy(trainer, folder, weights, steps, at) if trainer else None


def initial(workload: Workload, folder: Path) -> Weights:
    with np.load(folder / "weights.npz") as stored:
        return {key: stored[key] for key in workload.tensor_shapes}


def in_numpy(
    trainer: OracleTrainer,
    folder: Path,
    weights: Weights,
    steps: int,
    at: Sequence[int],
    first: int = 0,
) -> Result:
    """NumPy's run of `steps` steps from mini-batch `first` on, with its weights after the steps
    `at`."""
    inputs, targets = open_batches(folder)

    def batch(step: int) -> training.Batch:
        number = (first + step) % len(inputs)
        return inputs[number], targets[number]

    with np.errstate(all="ignore"):  # numbers of a mistake may overflow
        trained = training.train(trainer, batch, weights, steps, [*at], restart=0)
    return Result(trained.losses, trained.weights, [])

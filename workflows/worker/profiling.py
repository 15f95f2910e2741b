"""A contender's steps under its framework's own profiler, after everything that is timed."""

import numpy as np

from frameworks.contract import Trainer, Unavailable
from frameworks.operations import Table, by_category
from workflows.worker.border import as_seconds
from workflows.worker.clock import timed
from workflows.worker.training import Batch, BatchGetter

WARM = 3  # steps before the profile
FEWEST, MOST, LONGEST_S = 2, 20, 2.0  # steps under the profiler, and how long they take at most


def profiled(trainer: Trainer, batches: BatchGetter, table: Table) -> dict[str, float]:
    """Seconds of a step (transfer and step) in each category of frameworks/operations.py.

    They add up to what a step takes under the profiler, which is longer than without.
    """
    last_s = [step_s(trainer, batches(number)) for number in range(WARM)][-1]
    count = max(FEWEST, min(MOST, int(LONGEST_S / max(last_s, 1e-6))))
    took: list[float] = []

    def run() -> None:
        took.extend(step_s(trainer, batches(WARM + number)) for number in range(count))

    named = as_seconds(trainer.profile(run))
    if not any(named.values()):
        raise Unavailable("its profiler named no operation")
    found = by_category(named, table, sum(took))
    return {name: spent / count for name, spent in found.items()}


def step_s(trainer: Trainer, batch: Batch) -> float:
    inputs, targets = (array.copy() for array in batch)
    return timed(lambda: step(trainer, inputs, targets))[1]


def step(trainer: Trainer, *batch: np.ndarray) -> None:
    given = trainer.put(*batch)
    trainer.synchronise()
    trainer.step(given)
    trainer.synchronise()

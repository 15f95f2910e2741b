"""Standard-normal inputs, against zeros or random labels."""

from typing import Final

import numpy as np

from frameworks.workloads.datasets.batches import Batches, Column, generator
from frameworks.workloads.workload import Workload

KIND: Final = "normal"
NUMBERS = "standard-normal numbers"


def draw(workload: Workload, seed: int) -> Batches:
    """Inputs float32 N(0, 1); targets zeros float32 for a mean squared error, else labels int32,
    uniform over the classes. An operation's targets are N(0, 1), too, with 1 in place of 0.
    Their shape is (batches, batch, *workload.target_shape).

    Drawn in training order: independent samples need no shuffling.
    """
    dataset = workload.dataset
    counts = (workload.batches, workload.batch)
    inputs = generator(seed, "inputs")
    labels = generator(seed, "labels")
    shape = (workload.batch, *dataset.shape)
    source = f"{NUMBERS} drawn with seed {seed}"
    wanted = workload.target_shape
    if workload.elementwise:
        source += ", beside others, none of which is 0"
        drawn = (labels.standard_normal(shape, np.float32) for _ in range(workload.batches))
        others = (np.where(part == 0, np.float32(1), part) for part in drawn)
        targets = Column((*counts, *wanted), np.float32, others)
    elif workload.loss == "mean_squared_error" or dataset.classes is None:
        source += ", against zeros"
        zeros = np.zeros((workload.batch, *wanted), np.float32)
        targets = Column((*counts, *wanted), np.float32, (zeros for _ in range(workload.batches)))
    else:
        source += f", against random labels of {dataset.classes} classes"
        targets = Column(
            (*counts, *wanted),
            np.int32,
            (
                labels.integers(dataset.classes, size=(workload.batch, *wanted))
                for _ in range(workload.batches)
            ),
        )
    return Batches(
        kind=KIND,
        source=source,
        samples=dataset.samples,
        inputs=Column(
            (*counts, *dataset.shape),
            np.float32,
            (inputs.standard_normal(shape, np.float32) for _ in range(workload.batches)),
        ),
        targets=targets,
    )

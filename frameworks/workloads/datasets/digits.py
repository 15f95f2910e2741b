"""Mini-batches of handwritten digits, in the same order for every contender."""

import numpy as np

from frameworks.workloads.datasets.batches import Batches, Column, DataError, generator
from frameworks.workloads.datasets.mnist import Images
from frameworks.workloads.workload import Workload

SHAPE = (28, 28, 1)
CLASSES = 10


def draw(workload: Workload, images: Images, seed: int) -> Batches:
    """Shuffle the images once and scale them to float32 in [0, 1]; labels are int32.

    Raises:
        DataError: the workload asks for another shape, loss or number of classes, or one
            mini-batch needs more images than there are.
    """
    dataset = workload.dataset
    require(
        dataset.shape == SHAPE,
        f"mnist has shape {SHAPE}, and workload {workload.name} asks for {dataset.shape}: "
        "give [28, 28, 1] (a flatten layer makes it a vector)",
    )
    require(
        workload.loss == "sparse_cross_entropy" and dataset.classes == CLASSES,
        f"mnist has labels of {CLASSES} classes, and workload {workload.name} asks for "
        f"{dataset.classes} classes and {workload.loss}: use sparse_cross_entropy with 10",
    )
    samples = min(dataset.samples, len(images.images))
    batches = samples // workload.batch
    require(
        batches > 0,
        f"workload {workload.name}: {samples:,} images do not fill one batch of {workload.batch}",
    )
    source = images.source
    if samples < dataset.samples:
        source += f"; {samples:,} samples, all there are, of {dataset.samples:,} asked for"
    order = generator(seed, "order").permutation(samples)[: batches * workload.batch]
    rows = order.reshape(batches, workload.batch)
    return Batches(
        kind=images.kind,
        source=source,
        samples=samples,
        inputs=Column(
            (*rows.shape, *SHAPE), np.float32, (scaled(images.images[row]) for row in rows)
        ),
        targets=Column(rows.shape, np.int32, (images.labels[row] for row in rows)),
    )


def scaled(images: np.ndarray) -> np.ndarray:
    values: np.ndarray = images.astype(np.float32) / np.float32(255)
    return values[..., None]


def require(condition: bool, message: str) -> None:
    if not condition:
        raise DataError(message)

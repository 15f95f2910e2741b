"""Words at random, in place of a text.

They stand in for the Penn Treebank, which may not be redistributed: as many words and steps, and
words as rare as in a text. There is nothing to learn but how rare each word is.
"""

from collections.abc import Iterator

import numpy as np

from frameworks.workloads.datasets.batches import Batches, Column, generator
from frameworks.workloads.workload import Workload

SHIFT = 2.7


def draw(workload: Workload, seed: int) -> Batches:
    """Inputs int32 (batches, batch, time), and the next words as targets of the same shape.

    Each word is drawn by Zipf's law as Mandelbrot (1953) has it: the probability of the k-th most
    frequent word is proportional to 1 / (k + 2.7).
    """
    dataset = workload.dataset
    (time,) = dataset.shape
    assert dataset.classes  # a workload with words has it
    shares = np.cumsum(1 / (np.arange(1, dataset.classes + 1) + SHIFT))
    shares /= shares[-1]

    def words(part: slice) -> Iterator[np.ndarray]:
        random = generator(seed, "inputs")  # the same words for inputs and targets
        for _ in range(workload.batches):
            drawn = random.random((workload.batch, time + 1))
            yield np.searchsorted(shares, drawn, side="right")[:, part]

    shape = (workload.batches, workload.batch, time)
    return Batches(
        kind="tokens",
        source=(
            f"words drawn by Zipf's law with seed {seed}, a stand-in for the Penn Treebank, each "
            "against the next"
        ),
        samples=dataset.samples,
        inputs=Column(shape, np.int32, words(slice(None, -1))),
        targets=Column(shape, np.int32, words(slice(1, None))),
    )

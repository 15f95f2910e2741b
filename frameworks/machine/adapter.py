"""An adapter whose step is one pass of a fixed computation: it times the machine.

A pass does not depend on the workload. The arrays stay for the life of the process, because
building them again each turn would take pages from the contenders.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import count, pairwise
from typing import Any

import numpy as np

from frameworks.contract import Conditions, Setting, Trainer
from frameworks.noop.adapter import NoopAdapter, NoopTrainer
from frameworks.workloads import Weights, Workload

ORDER = 640  # of the matrices: 1.6 MiB each
LENGTH = 8_400_000  # of the stream's arrays: 33.6 MB each, and no multiple of 4 KiB apart
BLOCK = 1 << 16  # of a stream: its 256 KiB stay in a core's cache between the two operations
SCALE = np.float32(3.0)


class Computation(ABC):
    """A fixed computation over `length` rows or numbers, of which threads compute parts."""

    length: int
    work: dict[str, Setting]  # of one pass over the whole length

    @abstractmethod
    def part(self, first: int, last: int) -> None:
        """Compute the rows or numbers from `first` up to `last`."""


class Product(Computation):
    """`c = a @ b` of float32 matrices `(ORDER, ORDER)`, by rows. A pass counts 2 ORDER^3 FLOP."""

    length = ORDER

    def __init__(self) -> None:
        self.work = {"flop_per_pass": 2 * ORDER**3}
        self.a, self.b, self.c = np.random.default_rng(0).random(
            (3, ORDER, ORDER), dtype=np.float32
        )

    def part(self, first: int, last: int) -> None:
        np.matmul(self.a[first:last], self.b, out=self.c[first:last])


class Stream(Computation):
    """The triad `a = b + SCALE * c` of float32 arrays `(LENGTH,)`.

    A pass counts the bytes that it reads and writes once, as STREAM does (McCalpin 1995).
    """

    length = LENGTH

    def __init__(self) -> None:
        arrays = np.random.default_rng(0).random((3, LENGTH), dtype=np.float32)
        self.work = {"bytes_per_pass": arrays.nbytes}
        self.a, self.b, self.c = arrays

    def part(self, first: int, last: int) -> None:
        for start in range(first, last, BLOCK):
            block = slice(start, min(start + BLOCK, last))
            np.multiply(self.c[block], SCALE, out=self.a[block])
            np.add(self.a[block], self.b[block], out=self.a[block])


COMPUTATIONS: dict[str, type[Computation]] = {"product": Product, "stream": Stream}


class MachineAdapter(NoopAdapter):
    def __init__(self, conditions: Conditions) -> None:
        super().__init__(conditions)
        self._threads = conditions.threads
        self._pool = ThreadPoolExecutor(self._threads, initializer=pin, initargs=(count(),))
        self._computations: dict[str, Computation] = {}  # shared by the trainers of all workloads

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        if variant not in self._computations:
            self._computations[variant] = COMPUTATIONS[variant]()
        return MachineTrainer(weights, self._computations[variant], self._pool, self._threads)


def pin(numbers: Iterator[int]) -> None:
    """Keep the calling thread on one of the process's cores, the next one for each thread.

    Unpinned, two threads mostly shared one core of an otherwise idle machine, because a pass is too
    short for the kernel to move them apart. Does nothing if the system cannot pin.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[next(numbers) % len(cores)]})


class MachineTrainer(NoopTrainer):
    """A trainer whose step is one pass, split evenly over the threads of a pool."""

    def __init__(
        self, weights: Weights, computation: Computation, pool: Executor, threads: int
    ) -> None:
        super().__init__(weights)
        self.computation = computation
        self._pool = pool
        ends = [computation.length * number // threads for number in range(threads + 1)]
        self._parts = list(pairwise(ends))

    def step(self, batch: Any) -> None:
        for part in [self._pool.submit(self.computation.part, *part) for part in self._parts]:
            part.result()

    def settings(self) -> dict[str, Setting]:
        """With `flop_per_pass` or `bytes_per_pass`, the work of one mini-batch."""
        own: dict[str, Setting] = {"precision": "float32", "intra_threads": len(self._parts)}
        return {**super().settings(), **own, **self.computation.work}

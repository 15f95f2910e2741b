"""Flaws of a framework's own loader, one class each."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

from flawed_adapters import Flawed

from frameworks.contract import Adapter


class NotThere(Flawed):
    loader = Adapter.loader


class AnotherOrder(Flawed):
    def loader(self, prepare, workers):
        own = super().loader(prepare, workers)
        return lambda numbers: own(sorted(numbers))


class OneMemory(Flawed):
    """Gives all mini-batches in the same arrays."""

    def loader(self, prepare, workers):
        own, memory = super().loader(prepare, workers), prepare(0)

        def filled(batch):
            for array, given in zip(memory, batch, strict=True):
                array[...] = given
            return memory

        return lambda numbers: map(filled, own(numbers))


class Keeps(Flawed):
    def loader(self, prepare, workers):
        return super().loader(cache(prepare), workers)


class FarAhead(Flawed):
    def loader(self, prepare, workers):
        pool = ThreadPoolExecutor(workers)
        return lambda numbers: pool.map(prepare, numbers)


class OneWorker(Flawed):
    def loader(self, prepare, workers):
        return super().loader(prepare, 1)

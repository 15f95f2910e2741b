"""The first of PyTorch's two workers: it hands out the mini-batches and waits for the second."""

import subprocess
import sys
import weakref
from itertools import count
from multiprocessing import Pipe
from typing import Any

import numpy as np
from torch import distributed

from frameworks.conditions import WORKERS
from frameworks.contract import Conditions, Setting
from frameworks.pytorch.trainer import Batch
from frameworks.pytorch.workers.second import Half, Share, join_group, meeting
from frameworks.workloads import Weights, Workload

KEYS = count()
SECOND = "frameworks.pytorch.workers.second"


class Second:
    """The process of the second worker. `gone`: the trainers that it need not keep; `losses`: of
    the last step of each trainer; `failed`: whether a step failed, here or there."""

    def __init__(self) -> None:
        store = meeting()
        self._pipe, theirs = Pipe()
        handle = theirs.fileno()
        command = [sys.executable, "-m", SECOND, str(handle), str(store.port)]
        self._process = subprocess.Popen(command, pass_fds=[handle])
        theirs.close()
        join_group(store, rank=0)
        self._unanswered, self.failed = 0, False
        self.gone: list[int] = []
        self.losses: dict[int, float] = {}

    def send(self, do: str, key: int, *given: Any) -> None:
        gone = self.gone[:]
        del self.gone[: len(gone)]
        self._pipe.send((gone, do, key, *given))
        self._unanswered += 1

    def wait(self) -> None:
        """Wait until everything that was sent is done."""
        while self._unanswered:
            try:
                key, loss = self._pipe.recv()
            except EOFError:
                self.failed = True
                raise RuntimeError("the second worker has ended") from None
            self._unanswered -= 1
            if loss is not None:
                self.losses[key] = loss

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        distributed.destroy_process_group()


present: list[Second] = []


def second() -> Second:
    """The second worker of all trainers of this process, and another one after a failure."""
    if present and present[0].failed:
        present.pop().end()
    if not present:
        present.append(Second())
    return present[0]


def shares(batch: Batch) -> tuple[Share, Share]:
    """Both workers' halves of a mini-batch. A single sample goes to both."""
    inputs, targets = batch
    middle = (len(inputs) + 1) // WORKERS
    own, other = (inputs[:middle], targets[:middle]), (inputs[middle:], targets[middle:])
    if not len(other[0]):
        other = own
    unit = (len(own[0]) + len(other[0])) / WORKERS
    return (*own, len(own[0]) / unit), (*other, len(other[0]) / unit)


class TwoWorkers(Half):
    def __init__(
        self, workload: Workload, weights: Weights, conditions: Conditions, variant: str
    ) -> None:
        conditions.require_two_workers()
        super().__init__(workload, weights, conditions)
        self._second, self._key = second(), next(KEYS)
        self._second.send("build", self._key, workload, weights, conditions)
        self.join()
        self._given: Batch | None = None  # the mini-batch of which the second worker has its share
        weakref.finalize(self, self._second.gone.append, self._key)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        batch = super().put(inputs, targets)
        self._give(batch)
        return batch

    def _give(self, batch: Batch) -> None:
        _, (inputs, targets, weight) = shares(batch)
        self._second.send("put", self._key, inputs.numpy(), targets.numpy(), weight)
        self._given = batch

    def step(self, batch: Batch) -> None:
        if batch is not self._given:
            self._give(batch)
        self._second.send("step", self._key)
        try:
            self.train(shares(batch)[0])
        except Exception:
            self._second.failed = True  # it has failed, too, or waits for this one
            raise

    def synchronise(self) -> None:
        self._second.wait()

    def loss(self) -> float:
        self.synchronise()
        return (super().loss() + self._second.losses[self._key]) / WORKERS

    def restart(self, weights: Weights) -> None:
        self._second.send("restart", self._key, weights)
        super().restart(weights)

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "workers": distributed.get_world_size()}

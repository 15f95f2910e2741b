"""A worker's trainer, and the process of the second worker.

The first worker starts the process with the numbers of a pipe and of a port, which nothing outside
this machine reaches. It ends with the pipe, and so with the first worker.
"""

import os
import sys
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor, distributed
from torch.distributed.constants import default_pg_timeout
from torch.nn.parallel import DistributedDataParallel

from frameworks.conditions import WORKERS
from frameworks.contract import Conditions
from frameworks.pytorch.trainer import PyTorchTrainer
from frameworks.workloads import Weights, Workload

HOST = "127.0.0.1"
# Two minutes, for a worker that was killed before it could join. The default is half an hour.
PATIENCE = default_pg_timeout / 15
Share = tuple[Tensor, Tensor, float]  # inputs, targets, and their number over a worker's mean


class Half(PyTorchTrainer):
    """Trains on its share of every mini-batch. All gradients are averaged over the workers."""

    def __init__(self, workload: Workload, weights: Weights, conditions: Conditions) -> None:
        torch.set_num_threads(conditions.threads // WORKERS)
        super().__init__(workload, weights, conditions, "default")

    def join(self) -> None:
        """Wait for the other worker to do the same."""
        self._forward = DistributedDataParallel(self._network)

    def train(self, share: Share) -> None:
        inputs, targets, weight = share
        self._optimiser.zero_grad()
        loss = self._loss_function(self._forward(inputs), targets)
        if weight != 1:  # a mini-batch of an odd size
            loss = weight * loss
        loss.backward()
        self._optimiser.step()
        self._loss = loss.detach()


def serve(pipe: Connection) -> None:
    """Do what the first worker asks for, and answer with the loss of a step."""
    trainers: dict[int, Half] = {}
    shares: dict[int, Share] = {}

    def answer(do: str, key: int, *given: Any) -> float | None:
        match do:
            case "build":
                trainers[key] = Half(*given)
                trainers[key].join()
            case "put":
                inputs, targets, weight = given
                shares[key] = torch.from_numpy(inputs), torch.from_numpy(targets), weight
            case "step":
                trainers[key].train(shares[key])
                return trainers[key].loss()
            case "restart":
                trainers[key].restart(*given)
        return None

    while True:
        gone, do, key, *given = pipe.recv()
        for one in gone:
            trainers.pop(one, None)
            shares.pop(one, None)
        pipe.send((key, answer(do, key, *given)))


def meeting(port: int = 0) -> Any:
    """Where the workers find each other. Opens it if no port is given."""
    store = distributed.TCPStore  # type: ignore[attr-defined]
    return store(HOST, port, WORKERS, is_master=not port, wait_for_workers=False)


def join_group(store: Any, rank: int) -> None:
    distributed.init_process_group(
        "gloo", store=store, rank=rank, world_size=WORKERS, timeout=PATIENCE
    )


def main(handle: str, port: str) -> None:
    join_group(meeting(int(port)), rank=1)
    try:
        serve(Connection(int(handle)))
    except EOFError:  # the first worker has ended
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

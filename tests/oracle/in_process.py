"""Trainers written in a test, as an adapter of a worker in this process; and small workloads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks.contract import Adapter, Trainer
from frameworks.workloads import Weights, Workload, load
from frameworks.workloads.layers import (
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    GlobalAveragePool,
    MaxPool,
    ReLU,
    Sigmoid,
    Tanh,
)  # fmt: skip
from frameworks.workloads.optimisers import SGD, Adam, Momentum, RMSprop
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.sequences import LSTM, Embedding
from tests.adapters.training import small
from workflows.worker.border import explain
from workflows.worker.handlers import Handlers
from workflows.worker.process import WorkerDied

Make = Callable[[Workload, Weights], Trainer]


class Made(Adapter):
    def __init__(self, make: Make) -> None:
        self.make = make

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        return self.make(workload, weights)


class InProcess:
    """Answers the requests of a diagnosis in this process, like a worker process."""

    def __init__(self, make: Make) -> None:
        self.worker = Handlers()
        self.worker.adapter = Made(make)

    def ask(self, do: str, timeout_s: float = 600, **arguments: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return getattr(self.worker, do)(**arguments)
        except Exception as error:
            raise WorkerDied(explain(error)) from error


# Every mistake fits one of them at least, and differs there from every other mistake.
STAGE = {
    "sgd": small(Dense(7), ReLU(), Dense(3), shape=(12,), classes=None, optimiser=SGD(0.02)),
    "momentum": small(
        Dense(7), Tanh(), Dense(7), Sigmoid(), Dense(6), Tanh(), Dense(7), Sigmoid(), Dense(4),
        shape=(12,), optimiser=Momentum(0.03),
    ),
    "mlp": load("mlp", {"outputs": 1, "hidden": [1000, 1000]}),
    "even": small(
        Conv2D(3, 2, 1, "same"), Tanh(), GlobalAveragePool(), Dense(4), shape=(8, 10, 3)
    ),
    "rmsprop": small(
        Conv2D(3, 3, 2, "same"), ReLU(), AveragePool(2, 1), Flatten(), Dense(4), shape=(8, 10, 3),
        optimiser=RMSprop(0.003, epsilon=1e-6),
    ),
    "adam": small(
        Conv2D(3, 2, 1, "same"), ReLU(), AveragePool(2), Conv2D(3, 3, 1, "same"), Tanh(),
        GlobalAveragePool(), Dense(4), shape=(8, 10, 3), optimiser=Adam(0.003),
    ),
    "overlapping": small(
        Conv2D(2), MaxPool(3, 2), ReLU(), Conv2D(3, 2, 2), GlobalAveragePool(), Dense(4),
        shape=(14, 16, 2), optimiser=SGD(0.02),
    ),
    "padded": small(
        Conv2D(3, 3, 1, ((0, 2), (3, 1))), Tanh(), MaxPool(3, 2, 1),
        Conv2D(4, 3, 2, 1, bias=False), Tanh(), AveragePool(2, 2, 1), GlobalAveragePool(), Dense(4),
        shape=(15, 17, 2), optimiser=SGD(0.02),
    ),
    "residual": small(
        Conv2D(4, 3, 1, 1, bias=False), BatchNorm(1e-2, 0.2), ReLU(),
        Residual((Conv2D(7, 3, 2, 1, bias=False), BatchNorm(), Tanh()), (Subsample(2, 7),)), ReLU(),
        Residual(
            (Conv2D(6, 3, 1, 1, bias=False), BatchNorm()),
            (Conv2D(6, 1, bias=False), BatchNorm(1e-2, 0.2)),
        ),
        ReLU(), GlobalAveragePool(), Dense(4), shape=(12, 10, 3), optimiser=Momentum(0.01),
    ),
    "stored": small(
        Conv2D(4, 3, 1, 1), BatchNorm(1e-2, batch_statistics=False), ReLU(),
        Residual((Conv2D(4, 3, 1, 1, bias=False), BatchNorm(batch_statistics=False))), Tanh(),
        GlobalAveragePool(), Dense(4), shape=(8, 10, 3), optimiser=Momentum(0.01),
    ),
    "mnist-cnn": load("mnist-cnn", {}),
    "words": small(
        Embedding(7, 5), LSTM(6), LSTM(6), Dense(7), shape=(9,), classes=7, kind="tokens",
        optimiser=SGD(0.02),
    ),
}  # fmt: skip

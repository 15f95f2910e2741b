"""Small workloads, the contenders that train them, and how far apart two runs are."""

import os
from collections.abc import Collection, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from frameworks.contract import Adapter, Conditions, Trainer, Unavailable
from frameworks.registry import framework, open_adapter, versions
from frameworks.workloads import Dataset, Weights, Workload, initial_weights
from frameworks.workloads.layers import (
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    GlobalAveragePool,
    Layer,
    MaxPool,
    ReLU,
    Sigmoid,
    Tanh,
)
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.sequences import LSTM, Embedding
from workflows.certify.judge import declared_state
from workflows.machine.fingerprint import gpu_names

AGREE = 1e-12  # relative, float64
OPTIMISERS = (SGD(0.01), Momentum(0.01), RMSprop(), Adam())

KERAS = "KERAS_BACKEND"

Batch = tuple[np.ndarray, np.ndarray]


class Contender(NamedTuple):
    framework: str
    variant: str
    device: str = "cpu"

    def deviates(self, workload: Workload) -> bool:
        return self.bound(workload) is not None

    def bound(self, workload: Workload) -> float | None:
        """How far the loss may be off, where the optimiser is declared to deviate."""
        component = f"optimiser.{workload.optimiser.kind}"
        deviations = framework(self.framework).variants[self.variant].deviations
        return next((d.loss_within for d in deviations if d.component == component), None)

    def aside(self, workload: Workload) -> set[str]:
        """Tensors that need not agree: state as declared, and biases without effect."""
        return {*declared_state(self, workload), *workload.idle}

    def trainer(
        self, workload: Workload, precision: str = "float64", weights: Weights | None = None
    ) -> Trainer:
        if why := missing(*self):
            pytest.skip(why)
        adapter = started(self.framework, self.device, precision)
        return adapter.trainer(workload, weights or initial_weights(workload, 1), self.variant)


VARIANTS = (
    ("pytorch", "default"),
    ("pytorch", "tuned"),
    ("tensorflow", "default"),
    ("tensorflow", "tuned"),
    ("jax", "default"),
    ("jax", "tuned"),
    ("tensorflow", "eager"),
    ("keras", "tensorflow"),
    ("keras", "torch"),
    ("keras", "jax"),
    ("keras", "fit"),
)


def missing(name: str, variant: str, device: str) -> str:
    """Why this contender cannot run in this process; empty if it can."""
    backend = framework(name).variants[variant].variables.get(KERAS)
    if device == "gpu" and not gpu_names():
        return "this machine has no GPU"
    if not versions(framework(name)):
        return f"{name} is not installed"
    if backend and backend != os.environ.get(KERAS, "tensorflow"):
        return f"in a process of its own: {KERAS}={backend} pytest tests/adapters -k keras"
    return ""


# Tests are parametrised over the contenders that can run here. The others are skipped once.
EVERY = [Contender(*variant, device) for device in ("cpu", "gpu") for variant in VARIANTS]
CONTENDERS = [contender for contender in EVERY if not missing(*contender)]
LEFT_OUT = {"-".join(contender): why for contender in EVERY if (why := missing(*contender))}
REFERENCE = Contender("pytorch", "default")


@cache
def started(name: str, device: str, precision: str) -> Adapter:
    """The framework under these conditions, one thread; skips the test where that cannot be.
    TensorFlow sees a GPU only in a process of its own: `pytest tests/adapters -k gpu`."""
    if not versions(framework(name)):
        pytest.skip(f"{name} is not installed")
    try:
        return open_adapter(framework(name), Conditions(device=device, precision=precision))
    except Unavailable as reason:
        if device == "cpu":
            raise
        pytest.skip(str(reason))


def small(
    *layers: Layer,
    shape: tuple[int, ...] = (9, 8, 2),
    classes: int | None = 4,
    optimiser: Optimiser = OPTIMISERS[0],
    kind: str = "normal",
) -> Workload:
    """Cross-entropy over `classes`, or mean squared error where there are none."""
    return Workload(
        name="small",
        dataset=Dataset(kind, 64, shape, classes),
        batch=6,
        layers=layers,
        loss="sparse_cross_entropy" if classes else "mean_squared_error",
        optimiser=optimiser,
    )


NETWORKS = {
    "valid": small(Conv2D(3), ReLU(), MaxPool(2), Flatten(), Dense(5), ReLU(), Dense(4)),
    "valid-stride-2": small(Conv2D(5, 3, 2), Tanh(), Flatten(), Dense(4)),
    "valid-stride-3": small(Conv2D(5, 2, 3), Sigmoid(), Flatten(), Tanh(), Dense(4)),
    "same": small(Conv2D(3, 3, 1, "same"), ReLU(), Flatten(), Dense(4)),
    "same-even-kernels": small(
        Conv2D(3, 2, 1, "same"), ReLU(), Conv2D(4, 4, 1, "same"), Tanh(), Flatten(), Dense(4)
    ),
    "same-stride-2": small(
        Conv2D(3, 3, 2, "same"), ReLU(), Conv2D(4, 4, 2, "same"), ReLU(), Flatten(), Dense(4)
    ),
    "same-stride-3": small(
        Conv2D(3, 5, 3, "same"), ReLU(), Conv2D(4, 1, 3, "same"), Flatten(), Dense(4)
    ),
    "overlapping-pools": small(
        MaxPool(3, 2), Conv2D(4, 2), ReLU(), AveragePool(2, 1), Flatten(), Dense(4)
    ),
    "gaps-between-pools": small(
        Conv2D(3), ReLU(), AveragePool(2, 3), MaxPool(1, 2), Flatten(), Dense(4), shape=(11, 9, 1)
    ),
    "global-average": small(Conv2D(5), Tanh(), GlobalAveragePool(), Dense(4)),
    "padded": small(
        Conv2D(3, 5, 2, 2),
        MaxPool(3, 2, 1),
        Tanh(),
        AveragePool(3, 1, 1),
        Conv2D(4, 3, 1, 1),
        ReLU(),
        Flatten(),
        Dense(4),
        shape=(12, 10, 2),
    ),
    "padded-by-side-without-bias": small(
        Conv2D(3, 3, 1, ((0, 2), (3, 1)), bias=False),
        Tanh(),
        Conv2D(4, 3, 2, ((1, 0), (0, 4)), bias=False),
        Flatten(),
        Dense(4),
    ),
    "residual": small(
        Conv2D(3, 3, 1, 1, bias=False),
        BatchNorm(1e-3, 0.2),
        ReLU(),
        Residual((Conv2D(3, 3, 1, 1), BatchNorm(), ReLU(), Conv2D(3, 1, bias=False), BatchNorm())),
        ReLU(),
        Residual((Conv2D(5, 3, 2, 1), ReLU()), (Subsample(2, 5),)),
        ReLU(),
        Residual((Conv2D(4),), (Conv2D(4, bias=False), BatchNorm())),
        ReLU(),
        GlobalAveragePool(),
        Dense(4),
    ),
    "residual-first": small(
        Residual((Residual((Conv2D(2, 1), ReLU())), Tanh()), (Conv2D(2, 1), Subsample(1, 2))),
        Tanh(),
        Flatten(),
        Dense(6),
        BatchNorm(),
        Residual((Dense(6), Sigmoid())),
        Dense(4),
    ),
    "stored-statistics": small(
        Conv2D(3, 3, 1, 1),
        BatchNorm(1e-3, batch_statistics=False),
        ReLU(),
        Residual((Conv2D(3, 3, 1, 1, bias=False), BatchNorm(batch_statistics=False))),
        ReLU(),
        Conv2D(2, 1),
        BatchNorm(batch_statistics=False),
        Tanh(),
        BatchNorm(),
        Flatten(),
        Dense(5),
        BatchNorm(1e-2, batch_statistics=False),
        Dense(4),
    ),
    "pooled-first-of-all": small(MaxPool(3, 2, 1), AveragePool(2, 1, 1), Flatten(), Dense(4)),
    "flatten-last": small(Conv2D(2, 3, 3), Flatten(), classes=8),
    "regression": small(
        Dense(7), ReLU(), ReLU(), Dense(5), Sigmoid(), ReLU(), Dense(3), shape=(12,), classes=None
    ),
    "sigmoid-last": small(Dense(5), ReLU(), Dense(4), Sigmoid(), shape=(12,)),
    "activation-first": small(ReLU(), Conv2D(3), MaxPool(2), ReLU(), Flatten(), ReLU(), Dense(4)),
}

SEQUENCES = {
    "words": small(Embedding(4, 3), LSTM(5), LSTM(5), Dense(4), shape=(5,), kind="tokens"),
    "one-label": small(LSTM(4), Tanh(), Dense(3), LSTM(2), Flatten(), Dense(4), shape=(5, 3)),
    "vectors": small(LSTM(4), Dense(3), shape=(5, 3), classes=None),
}


def batches(workload: Workload, count: int, seed: int = 0) -> Iterator[Batch]:
    """Inputs are words, in [0, 1) for digits, else standard normal; random labels, or targets."""
    random = np.random.default_rng(seed)
    draw = random.random if workload.dataset.kind == "mnist" else random.standard_normal
    shape = (workload.batch, *workload.dataset.shape)
    wanted = (workload.batch, *workload.target_shape)
    for _ in range(count):
        inputs: np.ndarray
        if workload.dataset.words:
            assert workload.dataset.classes
            inputs = random.integers(0, workload.dataset.classes, shape, dtype=np.int32)
        else:
            inputs = draw(shape).astype(np.float32)
        if workload.dataset.classes:
            yield inputs, random.integers(0, workload.outputs, wanted, dtype=np.int32)
        else:
            yield inputs, random.standard_normal(wanted).astype(np.float32)


def train(trainer: Trainer, workload: Workload, steps: int = 20) -> np.ndarray:
    """The loss of every step."""
    losses = []
    for batch in batches(workload, steps):
        trainer.step(trainer.put(*batch))
        trainer.synchronise()
        losses.append(trainer.loss())
    return np.array(losses)


def apart(weights: Weights, others: Weights, aside: Collection[str] = ()) -> float:
    """The largest distance of a tensor from its counterpart, relative to that one's norm, but for
    the tensors `aside`."""
    assert list(weights) == list(others)
    return max(
        float(np.linalg.norm(weights[name] - other) / np.linalg.norm(other))
        for name, other in others.items()
        if name not in aside
    )

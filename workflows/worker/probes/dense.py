"""A dense layer with work in it: precision of products and weights, and who does the work."""

import time
from typing import Any, NamedTuple

import numpy as np

from frameworks.contract import Adapter, Setting, Trainer
from frameworks.workloads import Workload
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import SGD
from workflows.worker.probes import threads
from workflows.worker.probes.asking import (
    KEPT,
    NONE,
    NUMBER,
    OTHER,
    WITHIN,
    nearest,
    network,
    step,
    trained,
)

SIZE = 512  # features, units and samples
STEPS = 8
# The gradient of every weight is 2 * NUMBER^2 / SIZE^2, so a step subtracts 2^-26. This is lost in
# a float32 of 1, but eight steps together are its last bit.
MOVED = STEPS * 2.0**-26
RATE = SGD(SIZE**2 / 2 * 2.0**-26)
# A short command of another program may take a core during all steps. So threads are counted again
# if fewer than the cores worked.
AGAIN = 2
PAUSE_S = 0.5


class Seen(NamedTuple):
    """The first loss, the weights that began as 1 after `STEPS` steps, and the number of threads
    that worked."""

    loss: float
    ones: np.ndarray
    working: int | None


def observe(adapter: Adapter, variant: str, workload: Workload) -> Seen:
    asked = network(Dense(SIZE), shape=(SIZE,), batch=SIZE, optimiser=RATE)
    trainer, _ = trained(adapter, variant, asked, {"dense1.kernel": np.eye(SIZE)})
    # Only the first sample is not zero: adding a quarter of a million equal squares in float32
    # causes a larger error than reduced products do.
    inputs = np.zeros((SIZE, SIZE), np.float32)
    inputs[0] = NUMBER
    targets = np.zeros((SIZE, SIZE), np.float32)
    loss = step(trainer, inputs, targets)
    batch = trainer.put(inputs, targets)
    trainer.synchronise()
    found = counted(trainer, batch)
    ones = np.diagonal(trainer.weights()["dense1.kernel"])
    for _ in range(AGAIN):
        if found is None or found >= threads.cores():
            break
        time.sleep(PAUSE_S)
        found = max(found, counted(trainer, batch) or 0)
    return Seen(loss, ones, found)


def counted(trainer: Trainer, batch: Any) -> int | None:
    """The number of threads that worked in `STEPS - 1` steps."""
    return seen_twice([working(trainer, batch) for _ in range(STEPS - 1)])


def seen_twice(counted: list[int | None]) -> int | None:
    """The most threads that worked in two of the steps. A program that takes a core leaves one
    thread of a pool more of the work, and a single thread may change within a step."""
    known = sorted(number for number in counted if number)
    return known[-2] if len(known) > 1 else None


def working(trainer: Trainer, batch: Any) -> int | None:
    """The number of threads that worked in a step. In another step it may be another thread: on a
    machine with other load, TensorFlow's single one is not always the same."""
    before = threads.processor_time()
    trainer.step(batch)
    trainer.synchronise()
    return threads.working(before, threads.processor_time())


def dense_products(seen: Seen) -> Setting:
    squares = {precision: kept**2 for precision, kept in KEPT.items()}
    return nearest(seen.loss * SIZE, squares, WITHIN) or OTHER


def weights_kept(seen: Seen) -> Setting:
    """The type in which updates are added, whatever type `weights()` returns. Something else that
    moves weights, such as a decay, hides it."""
    moved = 1 - seen.ones.astype(np.float64)
    if not moved.any():
        return "float32"
    return "finer than float32" if (np.abs(moved - MOVED) < MOVED / 2).all() else OTHER


def computing_threads(seen: Seen) -> Setting:
    return NONE if seen.working is None else seen.working


QUESTIONS = {
    "dense_products": dense_products,
    "weights_kept": weights_kept,
    "computing_threads": computing_threads,
}

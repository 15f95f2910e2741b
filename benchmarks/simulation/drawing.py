"""Contests drawn from the noise model, mini-batch by mini-batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulation.noise import NORMAL, Noise, Parameters, stacked
from workflows.measure.schedule import williams

Array = NDArray[np.float32]
Number = TypeVar("Number", bound=np.floating[Any])
LEVELS = 16  # levels of one process; shifts beyond these repeat the last level


@dataclass(frozen=True)
class Deal:
    """Mini-batches of a contest, as in `contest` of a configuration; these are the default's."""

    warmup: int = 5
    rounds: int = 12
    turn: int = 6
    settle: int = 2

    @cached_property
    def round(self) -> NDArray[np.int64]:
        """The round of each mini-batch of a process; 0 is warm-up."""
        rounds = np.repeat(np.arange(1, self.rounds + 1), self.turn)
        return np.concatenate([np.zeros(self.warmup, np.int64), rounds])

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The place of each mini-batch in its turn."""
        return np.concatenate([np.arange(self.warmup), np.tile(np.arange(self.turn), self.rounds)])

    @cached_property
    def steady(self) -> NDArray[np.bool_]:
        return (self.round > 0) & (self.place >= self.settle)

    def by_round(self, values: NDArray[Number]) -> NDArray[Number]:
        """(..., mini-batches) without the warm-up, as (..., rounds, places)."""
        return values[..., self.warmup :].reshape(*values.shape[:-1], self.rounds, self.turn)


def draw(
    noises: Sequence[Noise],
    times: Sequence[float],
    deal: Deal,
    contests: int,
    random: np.random.Generator,
    order: NDArray[np.int64] | None = None,
) -> Array:
    """Logarithms of the times of all mini-batches, (contests, contenders, mini-batches).

    `times` are the contenders' own times without any noise, in the unit in which `spike` is;
    `order` is what `positions` returns, and is drawn unless it is given.
    """
    if order is None:
        order = positions(len(noises), deal.rounds, contests, random)
    noise = stacked(list(noises))
    shape = (contests, len(noises), len(deal.round))
    logs = batches(noise, shape, random)
    logs += turns(noise, order, random)[..., deal.round]
    logs += levels(noise, shape, random)
    logs += processes(noise, contests, random)
    beginnings(logs, noise, deal)
    logs += np.log(np.asarray(times, np.float32))[:, None]
    interrupt(logs, noise, random)
    return logs


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.standard_normal(shape, dtype=np.float32)


def student(random: np.random.Generator, shape: tuple[int, ...], freedom: Array) -> Array:
    """Student's t with the `freedom` (contenders, 1) of each contender, along axis 1."""
    values = normal(random, shape)
    for place in np.flatnonzero(freedom[:, 0] < NORMAL):
        half = freedom[place, 0] / 2
        spread = random.standard_gamma(half, values[:, place].shape, dtype=np.float32)
        values[:, place] /= np.sqrt(np.maximum(spread, 1e-6) / half)
    return values


def processes(noise: Parameters, contests: int, random: np.random.Generator) -> Array:
    count = len(noise["process"])
    own = noise["process"] * student(random, (contests, count, 1), noise["process_tails"])
    slow = random.random((contests, count, 1), dtype=np.float32) < noise["slow"]
    own += np.where(slow, noise["slowed"], np.float32(0))
    return own + noise["contest"] * normal(random, (contests, 1, 1))


def turns(noise: Parameters, order: NDArray[np.int64], random: np.random.Generator) -> Array:
    """What a whole turn shares, (contests, contenders, rounds and warm-up): its own effect, and
    the interference at its time, a random walk along all turns of the contest."""
    contests, count, rounds = order.shape
    own = noise["turn"] * student(random, order.shape, noise["turn_tails"])
    walk = np.cumsum(normal(random, (contests, rounds * count)), axis=1)
    when = order + count * np.arange(rounds)
    passed = np.take_along_axis(walk, when.reshape(contests, -1), axis=1)
    return own + noise["drift"] * passed.reshape(order.shape)


def positions(
    count: int, rounds: int, contests: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Position in each round, (contests, contenders, rounds and warm-up), as a contest deals
    them: warm-up at random, then Williams squares with contenders and rows shuffled
    (`workflows.measure.schedule.orders`)."""
    places = np.argsort(williams(count), axis=1)  # of each contender in each row
    found = [shuffled(random, contests, count)[:, None]]
    for _ in range(0, rounds, len(places)):
        rows, labels = shuffled(random, contests, len(places)), shuffled(random, contests, count)
        found.append(places[rows[:, :, None], labels[:, None, :]])
    return np.concatenate(found, axis=1)[:, : rounds + 1].transpose(0, 2, 1)


def shuffled(random: np.random.Generator, contests: int, count: int) -> NDArray[np.int64]:
    return random.random((contests, count)).argsort(axis=1)


def levels(noise: Parameters, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """A level from the start, another one after each shift."""
    shifted = random.random(shape, dtype=np.float32) < noise["shifts"]
    number = np.minimum(np.cumsum(shifted, axis=2, dtype=np.int16), LEVELS - 1)
    values = noise["shift"] * normal(random, (*shape[:2], LEVELS))
    return np.take_along_axis(values, number.astype(np.int64), axis=2)


def batches(noise: Parameters, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Autocorrelated from one mini-batch of a process to its next, and stationary."""
    values = student(random, shape, noise["batch_tails"])
    keep = noise["autocorrelation"][:, 0]
    fresh = np.sqrt(1 - keep**2)
    for step in range(1, shape[2]):
        values[..., step] = keep * values[..., step - 1] + fresh * values[..., step]
    values *= noise["batch"]
    return values


def beginnings(logs: Array, noise: Parameters, deal: Deal) -> None:
    """Slower at the start of a process and of each turn."""
    for name, begun in (("warmup", deal.round == 0), ("cold", deal.round > 0)):
        excess = noise[name]
        for place in range(excess.shape[1]):
            logs[:, :, begun & (deal.place == place)] += excess[:, place, None]


def interrupt(logs: Array, noise: Parameters, random: np.random.Generator) -> None:
    """An interruption's length does not depend on the mini-batch, so it is added to the time."""
    shape = logs.shape
    hit = random.random(shape, dtype=np.float32) < noise["spikes"]
    length = np.broadcast_to(noise["spike"], shape)[hit]
    length = length * random.standard_exponential(len(length), dtype=np.float32)
    logs[hit] = np.logaddexp(logs[hit], np.log(np.maximum(length, 1e-12)))

"""What disturbs the time of a mini-batch, on the scale of natural logarithms."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workflows.records.schema import Record

NORMAL = 100.0  # degrees of freedom from which Student's t is drawn as a normal
COMMITTED = Path(__file__).with_name("noise.json")

Parameters = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Noise:
    """The noise of one contender; the time of a mini-batch is its own time multiplied by the
    exponential of the sum of these, but for spikes, which are added.

    Sizes are scales of natural logarithms, so 0.01 is about 1 %: standard deviations, or, where
    a distribution has `tails`, the scale of Student's t with so many degrees of freedom. Tails
    of processes and slow ones are for scenarios: records have too few processes to tell.
    """

    process: float = 0.0  # one draw a process: memory placement and the like
    process_tails: float = NORMAL
    slow: float = 0.0  # probability that a process is slow from its start to its end,
    slowed: float = 0.0  # and by how much
    contest: float = 0.0  # one draw a contest, shared by all its processes
    drift: float = 0.0  # step of a random walk from turn to turn, shared by all who take turns
    turn: float = 0.0  # one draw a turn, of this contender alone
    turn_tails: float = NORMAL
    shift: float = 0.0  # of the level that a process keeps until its next shift
    shifts: float = 0.0  # probability of a level shift at a mini-batch
    batch: float = 0.0  # of single mini-batches,
    batch_tails: float = NORMAL
    autocorrelation: float = 0.0  # of those, from one to the next
    spikes: float = 0.0  # probability that a mini-batch is interrupted
    spike: float = 0.0  # mean length of an interruption (exponential), in usual mini-batches
    cold: tuple[float, ...] = ()  # how much longer the first mini-batches of a turn take
    warmup: tuple[float, ...] = ()  # and the first of a process


class Fit(Record):
    """The noise of one contender in real records."""

    study: str
    machine: str
    workload: str
    contender: str
    replicates: int
    noise: Noise


class Check(Record):
    """One figure, in the records and in studies simulated from what was fitted to them."""

    what: str
    recorded: float
    simulated: float


class Fits(Record):
    """What `fit` found, and where."""

    command: str
    fits: list[Fit]
    checks: list[Check]


def stacked(noises: list[Noise]) -> Parameters:
    """Every parameter as an array (contenders, 1), those of many entries (contenders, entries),
    shorter ones filled up with zeros."""
    found = {}
    for field in fields(Noise):
        values = [np.atleast_1d(getattr(noise, field.name)) for noise in noises]
        rows = np.zeros((len(noises), max(map(len, values))), np.float32)
        for row, value in zip(rows, values, strict=True):
            row[: len(value)] = value
        found[field.name] = rows
    return found

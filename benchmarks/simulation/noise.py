"""The noise model: what disturbs the time of a mini-batch, on the scale of natural logarithms, and
the noise that scenarios are made of."""

from dataclasses import dataclass, fields, replace
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

    process: float = 0.0  # one draw a process: for example memory placement
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
    """Every parameter as an array (contenders, 1). Parameters with many entries become
    (contenders, entries), padded with zeros."""
    found = {}
    for field in fields(Noise):
        values = [np.atleast_1d(getattr(noise, field.name)) for noise in noises]
        rows = np.zeros((len(noises), max(map(len, values))), np.float32)
        for row, value in zip(rows, values, strict=True):
            row[: len(value)] = value
        found[field.name] = rows
    return found


def facts(cv: float, icc: float = 0.2, lag1: float = 0.36, shifting: float = 0.15) -> Noise:
    """Noise with the figures of a benchmark of PyTorch against itself on a cloud machine: `cv`
    of processes, intraclass correlation, lag-1 autocorrelation within a process. `shifting` is
    the share of the variance within a process that level shifts have, one in 100 mini-batches;
    they are persistent, so mini-batches themselves need less autocorrelation."""
    within = cv * ((1 - icc) / icc) ** 0.5
    return Noise(
        process=cv,
        contest=cv,
        drift=0.02,
        shift=within * shifting**0.5,
        shifts=0.01,
        batch=within * (1 - shifting) ** 0.5,
        autocorrelation=(lag1 - 0.99 * shifting) / (1 - shifting),
        cold=(0.06, 0.02),
        warmup=(2.0, 0.3, 0.1, 0.05, 0.02),
    )


def device(noise: Noise) -> Noise:
    """Made up, since no GPU has been measured: steadier than the processor that drives it, but
    for interruptions and slow first mini-batches, which last as long and so weigh more."""
    return replace(
        noise,
        process=noise.process / 4,
        turn=noise.turn / 4,
        shift=noise.shift / 4,
        batch=noise.batch / 4,
        drift=noise.drift / 4,
        contest=noise.contest / 4,
        spikes=max(noise.spikes, 0.02),
        spike=max(noise.spike, 0.1),
        cold=tuple(3 * excess for excess in noise.cold),
    )


HARSH = facts(0.17)
HEAVY = replace(
    facts(0.05),
    process_tails=4.0,
    turn=0.05,
    turn_tails=2.0,
    batch_tails=2.0,
    spikes=0.05,
    spike=2.0,
)
WILD = replace(facts(0.03), process_tails=1.5)
SHARED = replace(facts(0.05), contest=0.25)

"""The noise model from real records, by moments and quantiles that can be worked by hand.

Everything is on logarithms of `ms`. A scale is 1.4826 times a median absolute value, so that a
few wild mini-batches do not make all of them wild; how wild they are is what tails say. With
`d(l)` the differences of mini-batches `l` apart in one turn, in which all that is longer than a
turn cancels, `v(l) = scale(d(l))^2 / 2` is `batch^2 (1 - autocorrelation^l)`. What is drawn by
turn, shift and process is then told apart by how far turns and replicates differ.
"""

import numpy as np

from analysis.data.results import Machine
from benchmarks.simulation.contests import Contests, Turns, beginnings, contests, length, slot
from benchmarks.simulation.moments import (
    centred,
    differences,
    drift,
    lasting,
    parted,
    persistence,
    root,
    settled,
    tails,
)  # fmt: skip
from benchmarks.simulation.noise import Fit, Noise
from workflows.records.storage import RecordError


def fit(machine: Machine) -> list[Fit]:
    """A model for each contender in each workload. Two replicates are needed, since one cannot
    tell how processes differ. Autocorrelation and how long levels last are told from all
    contenders of the study: one alone has too few mini-batches to tell."""
    held = contests(machine)
    if not held:
        raise RecordError(f"{machine.name}: no contender has two replicates, so nothing is fitted")
    keep = autocorrelation([own for each in held.values() for own in each.turns])
    staying = persistence([means for each in held.values() for means in each.alone])
    return [
        Fit(
            study=machine.study.name,
            machine=machine.name,
            workload=key[0],
            contender=name,
            replicates=each.replicates,
            noise=noise,
        )
        for key, each in held.items()
        for name, noise in together(each, keep, staying).items()
    ]


def together(held: Contests, keep: float, staying: float) -> dict[str, Noise]:
    """Contenders of the same contests: what they share is estimated from all of them."""
    levels = np.array([own.levels for own in held.turns])
    alone, shared = parted(levels - levels.mean(axis=1, keepdims=True))
    walk = drift(held.means, np.array([slot(own) for own in held.rows.values()]))
    noises = {}
    for (name, rows), own, means, level in zip(
        held.rows.items(), held.turns, held.alone, alone, strict=True
    ):
        batch = root(own.near / (1 - keep))
        turn, shift = lasting(means, staying, batch, keep, own.logs.shape[2])
        spread = float(np.var(level, ddof=1))
        noises[name] = Noise(
            process=root(spread - settled(turn, shift, staying, means.shape[1])),
            contest=float(np.std(shared, ddof=1)),
            drift=walk,
            turn=turn,
            turn_tails=tails(centred(means)),
            shift=shift,
            shifts=1 - staying ** (1 / length(rows)) if shift else 0.0,
            batch=batch,
            batch_tails=tails(differences(own.logs, 1)),
            autocorrelation=keep,
            spikes=len(own.spikes) / own.logs.size,
            spike=float(own.spikes.mean()) if len(own.spikes) else 0.0,
            **beginnings(rows),
        )
    return noises


def autocorrelation(every: list[Turns]) -> float:
    """`v(2) / v(1) - 1`, the median over contenders."""
    ratios = [own.far / own.near for own in every if own.near > 0]
    return float(np.clip(np.median(ratios) - 1, 0.0, 0.9)) if ratios else 0.0

"""The noise model from real records, by moments and quantiles that can be worked by hand.

Everything is on logarithms of `ms`. A scale is 1.4826 times a median absolute value, so that a
few wild mini-batches do not make all of them wild; tails say how wild they are. `d(l)` are the
differences of mini-batches that are `l` places from each other in one turn: everything longer than
a turn cancels in them, so `v(l) = scale(d(l))^2 / 2` is `batch^2 (1 - autocorrelation^l)`. How far
turns and replicates differ then separates what is drawn by turn, by shift and by process.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from analysis.data.results import Machine
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.noise import Check, Fit, Noise
from benchmarks.simulation.recorded import (
    Contests,
    Floats,
    Turns,
    beginnings,
    centred,
    contests,
    differences,
    drift,
    lasting,
    length,
    parted,
    persistence,
    root,
    settled,
    slot,
    steady,
    tails,
)  # fmt: skip
from workflows.records.storage import RecordError


def fit(machine: Machine) -> list[Fit]:
    """A model for each contender in each workload. Two replicates are needed, because one does not
    show how processes differ. Autocorrelation and how long levels last are estimated from all
    contenders of the study, because one contender has too few mini-batches."""
    recorded = contests(machine)
    if not recorded:
        raise RecordError(f"{machine.name}: no contender has two replicates, so nothing is fitted")
    keep = autocorrelation([own for each in recorded.values() for own in each.turns])
    staying = persistence([means for each in recorded.values() for means in each.alone])
    return [
        Fit(
            study=machine.study.name,
            machine=machine.name,
            workload=key[0],
            contender=name,
            replicates=each.replicates,
            noise=noise,
        )
        for key, each in recorded.items()
        for name, noise in together(each, keep, staying).items()
    ]


def together(recorded: Contests, keep: float, staying: float) -> dict[str, Noise]:
    """Models of the contenders of the same contests; what they share is estimated from all."""
    levels = np.array([own.levels for own in recorded.turns])
    alone, shared = parted(levels - levels.mean(axis=1, keepdims=True))
    walk = drift(recorded.means, np.array([slot(own) for own in recorded.rows.values()]))
    noises = {}
    for (name, rows), own, means, level in zip(
        recorded.rows.items(), recorded.turns, recorded.alone, alone, strict=True
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


SEED = 20161
SIMULATED = 40  # studies as large as the recorded one


def checks(machines: Sequence[Machine], fits: Sequence[Fit]) -> list[Check]:
    """Figures that fitting did not use, in the records and in simulated studies of the same size;
    medians over all contenders or pairs."""
    random = np.random.default_rng(SEED)
    recorded: dict[str, list[float]] = {}
    simulated: dict[str, list[float]] = {}
    for machine in machines:
        noise = {
            (fit.workload, fit.contender): fit.noise
            for fit in fits
            if (fit.machine, fit.study) == (machine.name, machine.study.name)
        }
        for key, own in contests(machine).items():
            add(recorded, np.array([steady(rows, "log") for rows in own.rows.values()]))
            noises = [noise[key[0], name] for name in own.rows]
            deal = deal_of(own)
            for _ in range(SIMULATED):
                logs = draw(noises, [1.0] * len(noises), deal, own.replicates, random)
                shape = (len(noises), own.replicates, deal.rounds, -1)
                add(simulated, logs[..., deal.steady].swapaxes(0, 1).reshape(shape).astype(float))
    return [
        Check(what=what, recorded=float(np.median(values)),
              simulated=float(np.median(simulated[what])))
        for what, values in recorded.items()
    ]  # fmt: skip


def deal_of(recorded: Contests) -> Deal:
    """The schedule of recorded contests."""
    rows = next(iter(recorded.rows.values()))
    rows = rows[rows["replicate"] == rows["replicate"].iloc[0]]
    first = rows[rows["round"] == 1]
    return Deal(
        warmup=int((rows["round"] == 0).sum()),
        rounds=int(rows["round"].max()),
        turn=len(first),
        settle=int(first["warmup"].sum()),
    )


def add(found: dict[str, list[float]], logs: Floats) -> None:
    """`logs` are (contenders, replicates, rounds, steady places)."""
    medians = np.median(logs, axis=(2, 3))
    series = logs - medians[:, :, None, None]
    within = series.var(axis=(1, 2, 3))
    neighbours = (series[..., 1:] * series[..., :-1]).mean(axis=(1, 2, 3))
    between = medians.var(axis=1, ddof=1)
    pairs = [medians[one] - medians[other] for one, other in combinations(range(len(logs)), 2)]
    for what, values in (
        ("standard deviation between processes", np.sqrt(between)),
        ("standard deviation of a pair's log-ratio", np.std(pairs, axis=1, ddof=1)),
        ("standard deviation of mini-batches in a process", np.sqrt(within)),
        ("lag-1 autocorrelation in a process", neighbours / within),
        ("intraclass correlation", between / (between + within)),
        ("kurtosis of a pair's log-ratios", kurtosis(np.array(pairs))),
    ):
        found.setdefault(what, []).extend(float(value) for value in values)


def kurtosis(values: Floats) -> Floats:
    """Fourth over squared second moment: 3 for many normal values, 3 (n - 1) / (n + 1) for n."""
    centred = values - values.mean(axis=1, keepdims=True)
    found: Floats = (centred**4).mean(axis=1) / (centred**2).mean(axis=1) ** 2
    return found

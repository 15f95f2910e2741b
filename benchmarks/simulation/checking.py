"""Does noise drawn from what was fitted look like the records it was fitted to?"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from analysis.data.results import Machine
from benchmarks.simulation.contests import Contests, contests, steady
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.moments import Floats
from benchmarks.simulation.noise import Check, Fit

SEED = 20161
SIMULATED = 40  # studies as large as the recorded one


def checks(machines: Sequence[Machine], fits: Sequence[Fit]) -> list[Check]:
    """Figures that fitting did not look at, medians over all contenders or pairs, in the
    records and in simulated studies of the same size."""
    random = np.random.default_rng(SEED)
    recorded: dict[str, list[float]] = {}
    simulated: dict[str, list[float]] = {}
    for machine in machines:
        own = [f for f in fits if (f.machine, f.study) == (machine.name, machine.study.name)]
        noise = {(each.workload, each.contender): each.noise for each in own}
        for key, held in contests(machine).items():
            add(recorded, np.array([steady(rows, "log") for rows in held.rows.values()]))
            noises = [noise[key[0], name] for name in held.rows]
            deal = dealt(held)
            for _ in range(SIMULATED):
                logs = draw(noises, [1.0] * len(noises), deal, held.replicates, random)
                shape = (len(noises), held.replicates, deal.rounds, -1)
                add(simulated, logs[..., deal.steady].swapaxes(0, 1).reshape(shape).astype(float))
    return [
        Check(what=what, recorded=float(np.median(values)),
              simulated=float(np.median(simulated[what])))
        for what, values in recorded.items()
    ]  # fmt: skip


def dealt(held: Contests) -> Deal:
    """How the mini-batches of recorded contests were dealt."""
    rows = next(iter(held.rows.values()))
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

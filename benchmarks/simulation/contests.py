"""Recorded contests, as arrays that the noise model can be fitted to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from analysis.data.processes import uncontrolled
from analysis.data.results import Machine
from benchmarks.simulation.moments import Floats, centred, differences, parted, scale
from workflows.records.storage import RecordError

SPIKED = 5.0  # standard deviations of a difference by which a spike sticks out of its turn


@dataclass(frozen=True)
class Turns:
    """One contender's steady mini-batches: `logs` (replicates, rounds, places), NaN where a
    spike was taken out, and what was taken out, in usual mini-batches."""

    logs: Floats
    spikes: Floats
    near: float  # v(1)
    far: float  # v(2)

    @property
    def means(self) -> Floats:
        found: Floats = np.nanmean(self.logs, axis=2)
        return found

    @property
    def levels(self) -> Floats:
        """Logarithm of each process's median."""
        return np.nanmedian(self.logs, axis=(1, 2))


@dataclass(frozen=True)
class Contests:
    """Contenders of one workload that share cores, those measured in the most replicates."""

    rows: dict[str, pd.DataFrame]

    @cached_property
    def turns(self) -> list[Turns]:
        return [turns(own) for own in self.rows.values()]

    @cached_property
    def means(self) -> Floats:
        """Of each turn: (contenders, replicates, rounds)."""
        return np.array([own.means for own in self.turns])

    @cached_property
    def alone(self) -> Floats:
        """Means without the weather."""
        return parted(centred(self.means))[0]

    @property
    def replicates(self) -> int:
        return len(self.means[0])


def contests(machine: Machine) -> dict[tuple[str, str, int], Contests]:
    """By workload, device and threads: those who share cores share the weather."""
    batches = uncontrolled(machine)
    batches = batches.assign(log=np.log(batches["ms"])).sort_values("step")
    found = {}
    for key, rows in batches.groupby(["workload", "device", "threads"], sort=False):
        counts = rows.groupby("contender")["replicate"].nunique()
        if counts.max() > 1:
            check(machine, rows)
            names = sorted(counts.index[counts == counts.max()])
            held = Contests({name: rows[rows["contender"] == name] for name in names})
            found[cast("tuple[str, str, int]", key)] = held
    return found


def check(machine: Machine, rows: pd.DataFrame) -> None:
    """Refuse what does not fit into arrays: turns or rounds that differ in number or length."""
    sizes = rows[~rows["warmup"]].groupby(["contender", "replicate", "round"]).size()
    rounds = sizes.groupby(["contender", "replicate"]).size()
    for what, found in (("steady mini-batches in a turn", sizes), ("rounds", rounds)):
        if found.nunique() > 1:
            raise RecordError(
                f"{machine.name}: contests of {rows['workload'].iloc[0]} have {found.min()} to "
                f"{found.max()} {what}; noise is fitted to contests that were dealt alike"
            )


def turns(rows: pd.DataFrame) -> Turns:
    """Spikes stick out of their turn's median by `SPIKED` scales of a difference."""
    table = steady(rows, "log")
    near, far = (scale(differences(table, lag)) ** 2 / 2 for lag in (1, 2))
    excess = table - np.median(table, axis=2, keepdims=True)
    wild = excess > SPIKED * np.sqrt(2 * near)
    return Turns(np.where(wild, np.nan, table), np.expm1(excess[wild]), near, far)


def steady(rows: pd.DataFrame, column: str) -> Floats:
    """(replicates, rounds, places) of steady mini-batches, in the order of their steps."""
    rows = rows[~rows["warmup"]]
    shape = rows["replicate"].nunique(), rows["round"].nunique(), -1
    ordered = rows.sort_values(["replicate", "step"])
    found: Floats = ordered[column].to_numpy(float).reshape(shape)
    return found


def slot(rows: pd.DataFrame) -> Floats:
    """When each turn was, counted in turns of the contest: (replicates, rounds)."""
    count = rows["position"].max() + 1
    found: Floats = steady(rows, "round")[..., 0] * count + steady(rows, "position")[..., 0]
    return found


def length(rows: pd.DataFrame) -> int:
    """Mini-batches from one turn's start to the next."""
    return int(rows[rows["round"] == 1].groupby("replicate").size().iloc[0])


def beginnings(rows: pd.DataFrame) -> dict[str, Any]:
    """Medians, over turns or processes, of how far each place is above the steady median."""
    steady_rows = rows[~rows["warmup"]]
    place = rows.groupby(["replicate", "round"]).cumcount()
    found = {}
    for name, chosen, keys in (
        ("cold", rows["round"] > 0, ["replicate", "round"]),
        ("warmup", rows["round"] == 0, ["replicate"]),
    ):
        usual = steady_rows.groupby(keys)["log"].median()
        begun = rows[chosen & rows["warmup"]]
        base = begun[keys].merge(usual.rename("usual"), left_on=keys, right_index=True)["usual"]
        excess = (begun["log"] - base).groupby(place[begun.index]).median()
        found[name] = tuple(float(value) for value in excess)
    return found

"""Recorded contests as arrays, and the moments and quantiles that the noise model is fitted to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from analysis.data.processes import uncontrolled
from analysis.data.results import Machine
from benchmarks.simulation.noise import NORMAL
from workflows.records.storage import RecordError

Floats = NDArray[np.float64]
WILDEST = 1.5  # fewest degrees of freedom that so few values can show


def scale(values: Floats) -> float:
    return 1.4826 * float(np.nanmedian(np.abs(values)))


def root(square: float) -> float:
    """The root of an estimated variance, which may be below zero if the true one is small."""
    return float(np.sqrt(max(square, 0.0)))


def parted(values: Floats) -> tuple[Floats, Floats]:
    """Split values into each contender's own part and the part that all share.

    The shared part is the median over contenders (axis 0), if there are three. Own parts have the
    shared one's error in them and have lent it theirs, so
    they are scaled back: of `n` normal values the median's variance is about
    `m = pi / (2 n + pi - 2)`, and that of a value without the median `1 + m - 2 / n`."""
    count = len(values)
    if count < 3:
        return values, np.zeros(values.shape[1:])
    shared = np.median(values, axis=0)
    error = np.pi / (2 * count + np.pi - 2)
    return (values - shared) / np.sqrt(1 + error - 2 / count), shared


def centred(means: Floats) -> Floats:
    return means - np.median(means, axis=-1, keepdims=True)


def differences(values: Floats, lag: int) -> Floats:
    return values[..., lag:] - values[..., :-lag]


def tails(values: Floats) -> float:
    """Degrees of freedom of the Student's t with the same ratio of the 95 % and 50 % quantiles of
    absolute values as `values`."""
    inside, outside = np.nanquantile(np.abs(values), [0.5, 0.95])

    def above(freedom: float) -> float:
        ratio = float(stats.t.ppf(0.975, freedom) / stats.t.ppf(0.75, freedom))
        return ratio - float(outside / inside)

    if inside == 0 or above(WILDEST) < 0:
        return WILDEST
    return NORMAL if above(NORMAL) > 0 else float(optimize.brentq(above, WILDEST, NORMAL))


def drift(means: Floats, slots: Floats) -> float:
    """Step per turn of the walk that all share: the products of two contenders' differences
    from one round to the next, over the turns that both differences span. Contenders weigh by
    the inverse square of their scale, and differences are cut at three scales."""
    change = np.diff(means, axis=2)
    scales = np.array([max(scale(own), 1e-9) for own in change])[:, None, None]
    change = np.clip(change, -3 * scales, 3 * scales)
    weights = 1 / scales**2
    begin, end = slots[..., :-1], slots[..., 1:]
    product = spanned = 0.0
    for one in range(len(change)):
        for other in range(one):
            weight = weights[one] * weights[other]
            common = np.minimum(end[one], end[other]) - np.maximum(begin[one], begin[other])
            spanned += float((weight * np.maximum(common, 0)).sum())
            product += float((weight * change[one] * change[other] * (common > 0)).sum())
    return root(product / spanned) if spanned else 0.0


def semivariances(means: Floats) -> Floats:
    """By rounds apart, from 1: half the squared scale of differences of turns."""
    return np.array([scale(differences(means, lag)) ** 2 / 2 for lag in lags(means)])


def lags(means: Floats) -> range:
    """Up to half the rounds, because few pairs are further apart."""
    return range(1, max(means.shape[-1] // 2, 2) + 1)


def persistence(means: list[Floats]) -> float:
    """Probability that a level lasts from one round to the next, for all contenders: the best
    fit of `turn^2 + shift^2 (1 - persistence^l)` to their semivariances, each over its mean."""
    curves = [semivariances(own) for own in means]
    shortest = min(map(len, curves))
    curve = np.mean([own[:shortest] / max(own.mean(), 1e-12) for own in curves], axis=0)
    grid = np.arange(0.3, 0.86, 0.01)
    return float(min(grid, key=lambda stay: split(curve, stay)[1]))


def split(curve: Floats, staying: float) -> tuple[Floats, float]:
    """Least squares without negative parts: `turn^2` and `shift^2`, and what is left over."""
    lost = 1 - staying ** np.arange(1, len(curve) + 1)
    parts, rest = optimize.nnls(np.column_stack([np.ones(len(curve)), lost]), curve)
    return parts, float(rest)


def lasting(
    means: Floats, staying: float, batch: float, keep: float, places: int
) -> tuple[float, float]:
    """Scales of turn and shift. A turn's mean has the noise of its mini-batches in it."""
    (turn, shift), _ = split(semivariances(means), staying)
    between = np.abs(np.subtract.outer(np.arange(places), np.arange(places)))
    return root(turn - batch**2 * float((keep**between).mean())), root(shift)


def settled(turn: float, shift: float, staying: float, rounds: int) -> float:
    """Variance that turns and shifts leave in the mean of a process."""
    between = np.abs(np.subtract.outer(np.arange(rounds), np.arange(rounds)))
    return turn**2 / rounds + shift**2 * float((staying**between).mean())


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
        """Means without the interference that all contenders felt."""
        return parted(centred(self.means))[0]

    @property
    def replicates(self) -> int:
        return len(self.means[0])


def contests(machine: Machine) -> dict[tuple[str, str, int], Contests]:
    """By workload, device and threads: contenders that share cores share interference."""
    batches = uncontrolled(machine)
    batches = batches.assign(log=np.log(batches["ms"])).sort_values("step")
    found = {}
    groups = batches.groupby(["workload", "device", "threads"])
    for key, rows in sorted(groups, key=lambda group: order(machine, group[0])):
        counts = rows.groupby("contender")["replicate"].nunique()
        if counts.max() > 1:
            check(machine, rows)
            names = sorted(counts.index[counts == counts.max()])
            held = Contests({name: rows[rows["contender"] == name] for name in names})
            found[cast("tuple[str, str, int]", key)] = held
    return found


def order(machine: Machine, key: object) -> tuple[int, str, int]:
    """Workloads as configured, then devices, then threads."""
    workload, device, threads = cast("tuple[str, str, int]", key)
    return machine.workloads.index(workload), device, threads


def check(machine: Machine, rows: pd.DataFrame) -> None:
    """Refuse contests that do not fit into arrays: turns or rounds differ in number or length."""
    sizes = rows[~rows["warmup"]].groupby(["contender", "replicate", "round"]).size()
    rounds = sizes.groupby(["contender", "replicate"]).size()
    for what, found in (("steady mini-batches in a turn", sizes), ("rounds", rounds)):
        if found.nunique() > 1:
            raise RecordError(
                f"{machine.name}: contests of {rows['workload'].iloc[0]} have {found.min()} to "
                f"{found.max()} {what}; noise is fitted to contests of one schedule"
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

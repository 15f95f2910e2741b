"""Compares the losses of timed float32 turns with the same turns in float64.

Every timed turn starts from the initial weights on the mini-batches of its round, which are the
same for all contenders. The reference has trained the same turns in float64, without timing, and
so has every contender that declares a deviation. Earlier records have no such turns. Here are the
losses; the weights after a turn are in `turn_weights`.

A part of a step does not change the weights. Its losses must be the reference's at the initial
weights, in every step within the tolerance of a first step.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS, identity
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.long_turns import LONG, widened, with_one_vote_each
from analysis.format import scientific
from workflows.records.schema import Float64Turns
from workflows.records.thresholds import TINY, UNDECIDED, VANISHED


class Limit(NamedTuple):
    """From a turn's second step to its step `last`, losses may in any case be off by `least` in
    the median. The share `odd` of all turns may be off by more."""

    last: int
    odd: float
    least: float


LATER = 30  # times the tolerance: losses after a turn's first step, because rounding grows
ROUNDED = 3  # times what gradients may be off, for the same losses
# In the median of a turn's first steps, a right contender's loss is off by less than `TIMES` what
# the median framework's is, or what the median of the others is in the same round. It is off by
# more in rounds in which float32 decides a ReLU differently (up to three of nine). `LIMITS` has
# what is allowed in any case. Some loss of right contenders was off by more than that in up to five
# of eight rounds of eight steps, which is less than `MOST`.
TIMES, MOST = 30, 0.75
LIMITS = (Limit(4, 0.5, 5e-5), Limit(4, 0.25, 3e-4), Limit(LONG, 0.5, 5e-4))
TURN = [*COLUMNS, "replicate", "round"]


@dataclass(frozen=True)
class Expected:
    """The turns in float64 that a benchmark's timed turns must agree with, `whose` they are, and
    how far its float32 gradients may be from float64's (`rounding`). `still`: its weights do not
    change. `room`: how far the first loss and later losses may be off in a reduced precision."""

    turns: Float64Turns
    whose: str
    rounding: float
    still: bool = False
    room: tuple[float, float] | None = None

    @property
    def in_float32(self) -> bool:
        """Whether it computes in float32 and weights after a turn can be compared."""
        return not self.room and self.rounding <= UNDECIDED


Turns = Mapping[BenchmarkId, Expected]


def float64_turns(machine: Machine) -> Turns:
    """By certified benchmark: the reference's turns, or its own if it declares a deviation."""
    found: dict[BenchmarkId, Expected] = {}
    for record in machine.records.certificates:
        for row in record.rows:
            one = BenchmarkId.of(record.workload, row)
            alike = (row.framework, row.variant, row.device)
            own = (
                other.turns
                for other in record.rows
                if other.turns and (other.framework, other.variant, other.device) == alike
            )
            if machine.part(one):
                if row.turns:
                    whose = f"{record.reference}'s in float64 at the initial weights"
                    found[one] = Expected(row.turns, whose, record.rounding, still=True)
            elif turns := next(own, None):
                found[one] = Expected(turns, "its own in float64", record.rounding, room=row.room)
            elif record.turns and (row.status != "declared" or machine.format(one)):
                whose = f"{record.reference}'s in float64" if row.ulp is None else "NumPy's"
                found[one] = Expected(record.turns, whose, record.rounding, room=row.room)
    return found


def without_turns(
    machine: Machine, batches: pd.DataFrame, turns: Turns
) -> Iterator[tuple[BenchmarkId, str]]:
    """Each benchmark whose timed turns nothing is known about, although the reference's is."""
    declared = {
        BenchmarkId.of(record.workload, row)
        for record in machine.records.certificates
        for row in record.rows
        if record.turns and row.status == "declared"
    }
    unknown = {one for one in declared if one not in turns and not machine.part(one)}
    for one in map(identity, batches[COLUMNS].drop_duplicates().itertuples(index=False)):
        if original(machine, one) in unknown:
            yield (
                one,
                "its timed turns are compared with nothing: it declares a deviation, and its "
                "certificates have no turns in float64",
            )


def losses(machine: Machine, batches: pd.DataFrame, turns: Turns, tolerance: float) -> pd.DataFrame:
    """The mini-batches whose loss is known in float64, in their order.

    `place` is the step in the turn, from 0; `off` is the relative difference of the loss from the
    `right` one, and `allowed` its limit: the tolerance in the first step, more in later steps,
    because gradients may be off, too.
    """
    batches = batches.sort_values(["replicate", "step"])
    place = batches["step"] - batches.groupby(TURN)["step"].transform("min")
    whose = list(zip(*(batches[name] for name in COLUMNS), strict=True))
    expected = {key: turns.get(original(machine, identity(key))) for key in set(whose)}
    turn = list(zip(whose, batches["round"], strict=True))
    right = [at(expected[key], n, step) for (key, n), step in zip(turn, place, strict=True)]
    first = [at(expected[key], n, 0) for key, n in turn]
    known = [has(expected[key], n, step) for (key, n), step in zip(turn, place, strict=True)]
    allowed = [
        room(expected[key], tolerance)[int(step > 0)]
        for (key, _), step in zip(turn, place, strict=True)
    ]
    still = {key: one is not None and one.still for key, one in expected.items()}
    table = batches.assign(
        place=place, right=right, first=first, allowed=allowed, still=[still[key] for key in whose]
    )[known]
    sizes = pd.concat([table["right"].abs(), VANISHED * table["first"].abs()], axis=1)
    off = (table["loss"] - table["right"]).abs() / sizes.max(axis=1).clip(lower=TINY)
    diverged = ~np.isfinite(table["right"])  # so the timed loss must be no number, either
    off = off.mask(diverged, np.where(np.isfinite(table["loss"]), np.inf, 0.0))
    return widened(table.assign(off=off))


def room(expected: Expected | None, tolerance: float) -> tuple[float, float]:
    """The limits of a turn's losses: of the first step, and of later steps."""
    if expected is None or expected.still:
        return tolerance, tolerance
    return expected.room or (tolerance, max(LATER * tolerance, ROUNDED * expected.rounding))


def at(expected: Expected | None, number: int, step: int) -> float:
    """The loss of a step of a round's turn, NaN if it is not known or no number."""
    known = expected.turns.losses if expected else []
    return known[number][step] if has(expected, number, step) else math.nan


def has(expected: Expected | None, number: int, step: int) -> bool:
    """Whether a step of a round's turn was trained in float64."""
    known = expected.turns.losses if expected else []
    return number < len(known) and step < len(known[number])


def original(machine: Machine, one: BenchmarkId) -> BenchmarkId:
    """What a control repeats; every other benchmark itself."""
    control = machine.control(one)
    return one._replace(variant=control.of) if control else one


def wrong_losses(
    machine: Machine, table: pd.DataFrame, turns: Turns
) -> Iterator[tuple[BenchmarkId, str]]:
    """The first loss of each benchmark that is too far off, in words."""
    wrong = table[~(table["off"] <= table["allowed"])]
    row: Any
    for row in wrong.drop_duplicates(COLUMNS).itertuples():
        one = identity(tuple(getattr(row, name) for name in COLUMNS))
        yield (
            one,
            f"the float32 loss of step {int(row.place) + 1} in round {row.round} of replicate "
            f"{row.replicate} differs by {scientific(row.off)} from "
            f"{turns[original(machine, one)].whose} (tolerance {row.allowed:g})",
        )


@dataclass(frozen=True)
class Typical:
    """How far off a benchmark's losses typically are in the first steps of its turns. `taken` has
    each turn's median, or 0 if its mini-batches magnify rounding in every framework. `others` is
    the median framework's. `reached` is the largest error that more turns reach than may be odd, in
    several rounds: in a single round, whose mini-batches are the same in all replicates, float32
    may decide a ReLU differently."""

    taken: pd.DataFrame
    others: float
    limit: Limit

    @cached_property
    def reached(self) -> float:
        off, rounds = (self.taken[name].to_numpy() for name in ("off", "round"))
        order = np.argsort(-off, kind="stable")
        elsewhere = np.flatnonzero(rounds[order] != rounds[order[:1]])
        if not len(elsewhere):
            return 0.0
        return float(off[order[max(elsewhere[0], int(self.limit.odd * len(off)))]])

    @property
    def allowed(self) -> float:
        return max(self.limit.least, TIMES * self.others)


def typical(table: pd.DataFrame) -> dict[BenchmarkId, Typical]:
    """For each benchmark except parts of a step: how it stands to the limit that it comes closest
    to, or exceeds most."""
    found: dict[BenchmarkId, list[Typical]] = {}
    for limit in LIMITS:
        first = table[table["place"].between(1, limit.last - 1) & ~table["still"]]
        for _, rows in first.groupby("workload"):
            others = in_the_middle(rows)
            taken = rows.groupby(TURN)["off"].median().reset_index()
            for key, own in taken.groupby(COLUMNS):
                one = identity(key)
                known = Typical(own, others, limit)
                if known.reached > known.allowed:
                    magnified = own["round"].map(in_rounds(taken, one.framework))
                    right = own["off"].between(known.allowed, TIMES * magnified)
                    known = replace(known, taken=own.assign(off=own["off"].mask(right, 0.0)))
                found.setdefault(one, []).append(known)
    return {
        one: max(under, key=lambda own: own.reached / own.allowed) for one, under in found.items()
    }


def in_rounds(taken: pd.DataFrame, framework: str) -> dict[Any, float]:
    """By round, how far off the turns of the other frameworks are, in the middle one."""
    rivals = taken[taken["framework"] != framework]
    return {number: in_the_middle(own) for number, own in rivals.groupby("round")}


def in_the_middle(rows: pd.DataFrame) -> float:
    """How far off the losses of a workload typically are in the median framework."""
    medians = rows.groupby(COLUMNS)["off"].median()
    return float(with_one_vote_each(own.tolist() for _, own in medians.groupby("framework")))


def led_elsewhere(machine: Machine, table: pd.DataFrame, expected: Turns) -> set[tuple[Any, ...]]:
    """Turns (benchmark, replicate and round) whose losses show that float32 decided a ReLU
    differently, so that their weights differ, too. If most turns of a contender show that, its
    computation is to blame, not float32, and none of its turns is listed. Neither are turns without
    comparable float32 weights."""
    found: set[tuple[Any, ...]] = set()
    first = table[table["place"].between(1, LONG - 1) & (table["round"] > 0) & ~table["still"]]
    for _, rows in first.groupby("workload"):
        far = rows["off"] > max(LIMITS[-1].least, TIMES * in_the_middle(rows))
        turns = far.groupby([rows[name] for name in TURN]).any()
        some = turns & (turns.groupby(COLUMNS).transform("mean") <= MOST)
        found |= {
            turn for turn in turns.index[some]
            if expected[original(machine, identity(turn[: len(COLUMNS)]))].in_float32
        }  # fmt: skip
    return found


def wrong_typically(
    machine: Machine, found: Mapping[BenchmarkId, Typical], turns: Turns
) -> Iterator[tuple[BenchmarkId, str]]:
    """Benchmarks whose losses in a turn's first steps are typically off by far more than those of
    the median framework, in words."""
    for one, own in found.items():
        if own.reached > own.allowed and not machine.format(one):
            far = own.taken[own.taken["off"] > own.allowed]
            yield (
                one,
                f"in {len(far)} of {len(own.taken)} turns the float32 losses of steps 2 to "
                f"{own.limit.last} are typically {scientific(far['off'].median())} off "
                f"{turns[original(machine, one)].whose}, and {scientific(own.others)} in the "
                f"framework in the middle (tolerance {own.allowed:.2g})",
            )

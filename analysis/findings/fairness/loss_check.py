"""Checks that the timed float32 turns computed what the certificates have proved.

The losses of all steps of every timed turn must be those of the same turns in float64, and so must
the weights after a turn. If earlier records lack the turns in float64, every turn must start with
the same loss as the reference's turn of the same round.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.processes import COLUMNS, identity
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.long_turns import LONG
from analysis.findings.fairness.timed_turns import (
    LATER,
    Typical,
    float64_turns,
    led_elsewhere,
    losses,
    typical,
    without_turns,
    wrong_losses,
    wrong_typically,
)
from analysis.findings.fairness.turn_weights import (
    ASTRAY,
    AfterTurn,
    changed,
    weights_astray,
    weights_read,
    with_limits,
    wrong_weights,
)
from analysis.format import count, scientific
from workflows.records.thresholds import REDUCED_ASTRAY, TINY

TOLERANCE, TF32 = 1e-3, 1e-2  # relative, without and with TF32; float32 rounding causes about 1e-6


@dataclass
class LossCheck:
    """`worst`: the largest relative difference among the `compared` losses of contenders that
    agree, in float32. `faults`: which benchmarks may not be compared, and why. `in_float64`:
    whether losses were compared with float64's. `first`: how many steps of a turn were compared,
    None if all were; `share`: the smallest share of a turn that this is. `late`: the limit in late
    steps of long turns. `weights`: whether weights after a turn were compared, too, except those of
    `odd` contenders, which float32 led elsewhere. `farthest`: each benchmark's largest relative
    difference from float64's losses; `typical`: how far off its losses typically are; `after`: how
    far off weights were after a turn."""

    tolerance: float
    in_float64: bool = False
    first: int | None = None
    share: float = 1.0
    late: float = 0.0
    weights: bool = False
    odd: int = 0
    compared: int = 0
    worst: float = 0.0
    faults: dict[BenchmarkId, str] = field(default_factory=dict)
    farthest: dict[BenchmarkId, float] = field(default_factory=dict, compare=False)
    typical: dict[BenchmarkId, Typical] = field(default_factory=dict, compare=False)
    after: list[AfterTurn] = field(default_factory=list, compare=False)

    def __str__(self) -> str:
        if not self.compared:
            return ""
        refused = f", but for {count(len(self.faults), 'contender')} refused" if self.faults else ""
        if self.in_float64:
            first = f"the losses of the first {self.first} steps of each turn"
            allowed = max(LATER * self.tolerance, self.late)
            if self.weights:
                elsewhere = f", if float32 did not lead elsewhere ({self.odd} did)"
                also = f", and so did the weights after one turn{elsewhere * bool(self.odd)}"
                refused = also + refused
            elif self.odd:
                refused += "; float32 led all weights elsewhere, so none were compared"
            return (
                f"In the timed float32 turns {first if self.first else 'all losses'} agreed with "
                f"float64's to {scientific(self.worst)} (tolerance {allowed:.2g}){refused}."
            )
        return (
            "In the timed float32 runs the first losses of all turns agreed to "
            f"{scientific(self.worst)} (tolerance {self.tolerance:g}){refused}. That is about "
            "weights, data and forward pass; updates are certified."
        )


def check_losses(machine: Machine, batches: pd.DataFrame) -> LossCheck:
    """`batches` come from processes that survived to the end of their contest."""
    tf32 = machine.study.configuration.get("tf32") is True
    turns = float64_turns(machine)
    found = LossCheck(TF32 if tf32 else TOLERANCE, in_float64=bool(turns))
    batches = batches[[*COLUMNS, "replicate", "round", "step", "batch", "loss"]]
    batches = batches.sort_values(["replicate", "step"])
    finite = np.isfinite(batches["loss"].to_numpy(float))
    row: Any
    for row in batches[~finite].drop_duplicates(COLUMNS).itertuples(index=False):
        one = identity(row[: len(COLUMNS)])
        found.faults[one] = f"{one.contender}: a loss in {turn(row)} is not finite ({row.loss})"
    if turns and len(batches):
        table = losses(machine, batches[finite], turns, found.tolerance)
        elsewhere = led_elsewhere(machine, table, turns)
        found.typical = typical(table)
        found.after = [*weights_astray(machine, batches, turns, elsewhere)]
        limited = [*with_limits(found.after, REDUCED_ASTRAY if tf32 else ASTRAY)]
        wrong = [
            *wrong_losses(machine, table, turns),
            *([] if tf32 else wrong_typically(machine, found.typical, turns)),
            *changed(machine, turns),
            *without_turns(machine, batches, turns),
            *wrong_weights(limited),
        ]
        for one, fault in wrong:
            found.faults.setdefault(one, f"{one.contender}: {fault}")
        found.compared = len(table)
        found.weights = bool(limited) and len(limited) == len(found.after)
        odd = {
            one
            for one, replicate, _ in weights_read(machine)
            if one in turns and (*one, replicate, turns[one].turns.round) in elsewhere
        }
        found.odd = len(odd - {one for one, *_ in limited})
        steps = compared_steps(batches, table)
        fewer = steps[steps["known"] < steps["all"]]
        if len(fewer):
            found.first = int(fewer["known"].min())
            found.share = float((fewer["known"] / fewer["all"]).min())
        found.late = max(table["allowed"][table["place"] >= LONG], default=0.0)
        farthest = table.groupby(COLUMNS)["off"].max()
        found.farthest = {identity(key): float(off) for key, off in farthest.items()}
        agreeing = {*found.farthest} - {*found.faults}
        found.worst = max(
            (found.farthest[one] for one in agreeing if not machine.format(one)), default=0.0
        )
        return found
    first = ~batches.duplicated([*COLUMNS, "replicate", "round"])
    compare_first(found, machine, batches[first & finite])
    return found


def compare_first(found: LossCheck, machine: Machine, batches: pd.DataFrame) -> None:
    """Compare contenders' first losses of each round, in records without turns in float64."""
    firsts: dict[tuple[str, int, int], dict[BenchmarkId, Any]] = {}
    row: Any
    for row in batches.itertuples(index=False):
        rows = firsts.setdefault((row.workload, row.replicate, row.round), {})
        rows[identity(row[: len(COLUMNS)])] = row
    order = sorted({one for rows in firsts.values() for one in rows}, key=machine.order)
    names = {record.reference for record in machine.records.certificates}
    for _, rows in sorted(firsts.items()):
        benchmarks = [one for one in order if one in rows]
        base = reference(names, benchmarks)
        for one in benchmarks:
            if one != base:
                compare(found, one, rows[one], base, rows[base])


def compared_steps(batches: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """By workload with turns in float64: how many steps a turn has (`all`), and how many of them
    were compared in every round (`known`)."""
    steps = batches[batches["round"] > 0].groupby([*COLUMNS, "replicate", "round"])["step"]
    lengths = (steps.max() - steps.min() + 1).groupby("workload").max()
    rounds = table[table["round"] > 0].groupby(["workload", "round"])["place"].max() + 1
    return pd.DataFrame({"all": lengths, "known": rounds.groupby("workload").min()}).dropna()


def reference(names: Collection[str], benchmarks: Sequence[BenchmarkId]) -> BenchmarkId:
    """The contender that certificates refer to, or the first contender if the reference is
    missing."""
    return next((one for one in benchmarks if one.contender in names), benchmarks[0])


def compare(
    found: LossCheck, benchmark: BenchmarkId, row: Any, base: BenchmarkId, wanted: Any
) -> None:
    """Compare one turn of one contender with the reference's turn of the same round."""
    difference = abs(row.loss - wanted.loss) / max(abs(wanted.loss), TINY)
    found.compared += 1
    if row.batch != wanted.batch:
        fault = f"{turn(row)} started with another mini-batch than {base.contender}'s"
    elif difference > found.tolerance:
        fault = (
            f"the first float32 loss of {turn(row)} differs by {scientific(difference)} from that "
            f"of {base.contender} (tolerance {found.tolerance:g})"
        )
    else:
        found.worst = max(found.worst, difference)
        return
    found.faults.setdefault(benchmark, f"{benchmark.contender}: {fault}")


def turn(row: Any) -> str:
    return f"round {row.round} of replicate {row.replicate}"

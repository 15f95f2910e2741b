"""Condenses long turns into few rows, so that large studies do not slow the report down.

A turn's mini-batches are sorted by their time and cut into parts of equal size. A part becomes one
row with the mean of its times, the sum of its switches, and its `weight`, the number of its
mini-batches. Counts, sums and means stay the same, and medians move by less than the distance
between neighbouring times. The first mini-batches of a turn and the last one stay rows of their
own. The loss of a condensed row is the loss of its part that is not finite or farthest from
float64's, so that no wrong loss disappears.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from analysis.data.turns import TURN, Places, beginnings, numbers, turn_of
from workflows.records.machine_records import MachineRecords
from workflows.records.thresholds import TINY, VANISHED

LARGE = 100_000  # a study of fewer mini-batches keeps every one
KEPT = 1_000_000  # rows of all turns together
LEAST, MOST = 8, 44  # rows of a turn
FIRST = 10  # stay rows of their own if there is room: the loss check takes medians over them
Losses = Sequence[Sequence[float]]  # by round and step of a turn
Exact = Mapping[tuple[str, ...], Losses]
MEANS = ("data_ns", "transfer_ns", "step_ns", "cpu_ns")


def rows_of_a_turn(records: MachineRecords) -> int:
    """How many rows a long turn becomes: the fewer, the more turns there are."""
    turns = sum(len(one.contenders) * (len(one.order) + 1) for one in records.contests)
    return min(max(KEPT // max(turns, 1), LEAST), MOST)


def in_float64(records: MachineRecords) -> Exact:
    """The losses of turns in float64. A key of the workload alone has the reference's; a key of
    workload, framework, variant and device has those of a contender that declares a deviation."""
    found: dict[tuple[str, ...], Losses] = {}
    for record in records.certificates:
        if record.turns:
            found[(record.workload,)] = record.turns.losses
        for row in record.rows:
            if row.turns:
                key = record.workload, row.framework, row.variant, row.device
                found[key] = row.turns.losses
    for contest in records.contests:
        for one in contest.contenders:  # a control is what it repeats
            key = contest.workload, one.framework, one.built, one.device
            if one.runs and key in found:
                found[(*key[:2], one.variant, one.device)] = found[key]
    return found


def condensed(table: pa.Table, most: int, exact: Exact = MappingProxyType({})) -> pa.Table:
    """`table` (whole turns, as in turns.py) with at most `most` rows for the warm-up of a turn and
    as many for the rest of the turn, in the order in which they ran. `exact`: `in_float64`."""
    whole, size = beginnings(table, TURN), table.num_rows
    starts = beginnings(table, (*TURN, "warmup"))
    order, far = np.arange(size), np.zeros(size)
    firsts: list[Places] = []
    times = numbers(table, "transfer_ns") + numbers(table, "step_ns")
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), size], strict=True):
        if end - start > most:
            begin = start + (FIRST if most > 2 * FIRST else 1)
            turn = whole[whole.searchsorted(start, side="right") - 1]  # with its warm-up
            far[start:end] = how_far(table[turn:end], exact)[start - turn :]
            order[begin : end - 1] = begin + np.argsort(times[begin : end - 1])
            parts = np.linspace(begin, end - 1, most - 1 - (begin - start), endpoint=False)
            firsts.append(np.r_[np.arange(start, begin), parts.astype(int), end - 1])
        else:
            firsts.append(np.arange(start, end))
    first = np.concatenate(firsts)
    weight = np.diff(np.append(first, size))
    far[~np.isfinite(numbers(table, "loss"))] = np.inf
    nearest_first = np.argsort(far, kind="stable")  # of equals the last is farthest
    rank = np.empty(size, int)
    rank[nearest_first] = np.arange(size)
    found = table.take(nearest_first[np.maximum.reduceat(rank[order], first)])
    for name in (*MEANS, "switches"):
        sums = np.add.reduceat(numbers(table, name)[order], first)
        values = np.rint(sums / weight) if name in MEANS else sums
        place = found.schema.get_field_index(name)
        found = found.set_column(place, name, pa.array(values).cast(found.schema.field(name).type))
    return found.append_column("weight", pa.array(weight))


def how_far(turn: pa.Table, exact: Exact) -> np.ndarray:
    """The relative distance of each loss of a turn from float64's, 0 if that is not known."""
    (one,) = turn_of(turn)
    whose = tuple(one[name] for name in ("workload", "framework", "variant", "device"))
    rounds = exact.get(whose, exact.get(whose[:1], ()))
    right = np.array(rounds[one["round"]] if one["round"] < len(rounds) else (), float)
    steps, losses = numbers(turn, "step"), numbers(turn, "loss")
    place = steps - steps[0]
    found, known = np.zeros(len(losses)), place < len(right)
    there = right[place[known]]
    least = max(VANISHED * abs(right[0]), TINY) if len(right) else TINY
    found[known] = abs(losses[known] - there) / np.maximum(abs(there), least)
    return found

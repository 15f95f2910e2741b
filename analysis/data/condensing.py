"""Long turns in few rows, so that what a report computes does not grow with mini-batches.

A turn's mini-batches are sorted by their time and cut into parts of equal size; a part becomes one
row with the mean of its times, the sum of its switches, and its `weight`, the number of its
mini-batches. Counts, sums and means stay what they were, and medians move by less than the
neighbours that they lie between are apart. The first mini-batch of a turn stays a row of its own,
and the last one gives its row the loss, so that both losses are still known. A loss that is not
finite is the loss of its row.
"""

import numpy as np
import pyarrow as pa

from analysis.data.turns import TURN, Places, beginnings, numbers
from workflows.records.machine_records import MachineRecords

LARGE = 100_000  # a study of fewer mini-batches keeps every one
KEPT = 1_000_000  # rows of all turns together
LEAST, MOST = 8, 32  # rows of a turn
MEANS = ("data_ns", "transfer_ns", "step_ns", "cpu_ns")


def rows_of_a_turn(records: MachineRecords) -> int:
    """How many rows a long turn becomes: the fewer, the more turns there are."""
    turns = sum(len(one.contenders) * (len(one.order) + 1) for one in records.contests)
    return min(max(KEPT // max(turns, 1), LEAST), MOST)


def condensed(table: pa.Table, most: int) -> pa.Table:
    """Mini-batches of whole turns (turns.py), in the order in which they ran, with at most so many
    rows for a turn, or for its warm-up."""
    starts, size = beginnings(table, (*TURN, "warmup")), table.num_rows
    order = np.arange(size)
    firsts: list[Places] = []
    times = numbers(table, "transfer_ns") + numbers(table, "step_ns")
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), size], strict=True):
        if end - start > most:
            order[start + 1 : end] = start + 1 + np.argsort(times[start + 1 : end])
            parts = np.linspace(start + 1, end, most - 1, endpoint=False)
            firsts.append(np.r_[start, parts.astype(int)])
        else:
            firsts.append(np.arange(start, end))
    first = np.concatenate(firsts)
    weight = np.diff(np.append(first, size))
    lost = ~np.isfinite(numbers(table, "loss"))
    shown = np.maximum.reduceat(order + size * lost[order], first) % size  # the last of each part
    found = table.take(shown)
    for name in (*MEANS, "switches"):
        sums = np.add.reduceat(numbers(table, name)[order], first)
        values = np.rint(sums / weight) if name in MEANS else sums
        place = found.schema.get_field_index(name)
        found = found.set_column(place, name, pa.array(values).cast(found.schema.field(name).type))
    return found.append_column("weight", pa.array(weight))

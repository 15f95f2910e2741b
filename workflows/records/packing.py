"""Mini-batches as a machine's folder stores them: without columns that follow from others."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workflows.records.columns import BATCHES, STORED

NAMED = ("framework", "variant", "device", "threads")  # the parts of a contender's name


def packed(batches: pa.Table) -> pa.Table:
    """Convert a table from the columns of `BATCHES` to the columns of `STORED`."""
    starts, taken = batches["start_ns"].to_numpy(), durations(batches)
    gaps = np.diff(starts, prepend=0)
    gaps[1:] -= taken[:-1]
    return batches.append_column("gap_ns", pa.array(gaps, pa.int64())).select(STORED.names)


def unpacked(stored: pa.Table, study: str, machine: str) -> pa.Table:
    """Convert a table from the columns of `STORED` to the columns of `BATCHES`."""
    steps = stored["gap_ns"].to_numpy().copy()
    steps[1:] += durations(stored)[:-1]
    names = pc.unique(stored["contender"])
    which = pc.index_in(stored["contender"], value_set=names)
    parts = [name.split("/") for name in names.to_pylist()]
    found = {
        "study": pa.repeat(study, len(steps)),
        "machine": pa.repeat(machine, len(steps)),
        "start_ns": pa.array(np.cumsum(steps)),
        **{name: stored[name] for name in STORED.names[1:]},
    }
    for place, name in enumerate(NAMED):
        values = pa.array([own[place] for own in parts], pa.string())
        found[name] = values.take(which).cast(BATCHES.field(name).type)
    return pa.table({name: found[name] for name in BATCHES.names}, schema=BATCHES)


def durations(table: pa.Table) -> NDArray[np.int64]:
    """Nanoseconds of all three parts of each mini-batch."""
    parts = (table[name].to_numpy() for name in ("data_ns", "transfer_ns", "step_ns"))
    return sum(parts, start=np.zeros(table.num_rows, np.int64))

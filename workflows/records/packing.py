"""Mini-batches as a machine's folder stores them: without columns that follow from others."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workflows.records.columns import BATCHES, STORED

NAMED = ("framework", "variant", "device", "threads")  # the parts of a contender's name


def packed(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Convert the parts of a table from the columns of `BATCHES` to the columns of `STORED`."""
    end = 0
    for part in parts:
        starts = part["start_ns"].to_numpy()
        ends = np.append(end, starts + durations(part))
        end = ends[-1]
        yield part.append_column("gap_ns", pa.array(starts - ends[:-1])).select(STORED.names)


def unpacked(parts: Iterable[pa.Table], study: str, machine: str) -> Iterator[pa.Table]:
    """Convert the parts of a table, each with its texts in one dictionary, from the columns of
    `STORED` to the columns of `BATCHES`."""
    end = 0
    for part in parts:
        took = durations(part)
        ends = end + np.cumsum(part["gap_ns"].to_numpy() + took)
        (contenders,) = part["contender"].chunks
        names = contenders.dictionary.to_pylist()
        found = {name: part[name] for name in STORED.names[1:]}
        found["start_ns"] = pa.array(ends - took)
        for name, value in (("study", study), ("machine", machine)):
            which = pa.array(np.zeros(len(took), np.int32))
            found[name] = pa.DictionaryArray.from_arrays(which, [value])
        for place, name in enumerate(NAMED):
            values = pa.array([own.split("/")[place] for own in names], pa.string())
            column = pa.DictionaryArray.from_arrays(contenders.indices, values)
            number = name == "threads"
            found[name] = values.cast(pa.int16()).take(contenders.indices) if number else column
        yield pa.table({name: found[name] for name in BATCHES.names})
        end = ends[-1]


def durations(table: pa.Table) -> NDArray[np.int64]:
    """Nanoseconds of all three parts of each mini-batch."""
    parts = (table[name].to_numpy() for name in ("data_ns", "transfer_ns", "step_ns"))
    return sum(parts, start=np.zeros(table.num_rows, np.int64))

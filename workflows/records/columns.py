"""The columns of a study's tables: their types, what they can hold, and their checks."""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workflows.records import limits

PHASES = ("data_ns", "transfer_ns", "step_ns")  # of a mini-batch, in order

BATCHES = pa.schema(
    [
        ("study", pa.string()),
        ("machine", pa.string()),
        ("workload", pa.string()),
        ("replicate", pa.int16()),  # from 1
        ("contender", pa.string()),  # framework/variant/device/threads
        ("framework", pa.string()),
        ("variant", pa.string()),
        ("device", pa.string()),
        ("threads", pa.int16()),
        ("round", pa.int16()),  # 0: warm-up before the rounds
        ("position", pa.int16()),  # in the order of its round, from 0
        ("batch", pa.int32()),  # index of the mini-batch in the data set
        ("step", pa.int32()),  # of this contender in this process, from 0
        ("warmup", pa.bool_()),  # round 0, and the first batches of each turn
        ("start_ns", pa.int64()),  # Unix time, from one monotonic clock per contest
        ("data_ns", pa.int64()),  # out of the memory map into host arrays
        ("transfer_ns", pa.int64()),  # put, then synchronise
        ("step_ns", pa.int64()),  # step, then synchronise
        ("cpu_ns", pa.int64()),  # processor time of the process, all threads
        ("switches", pa.int32()),  # involuntary context switches of the process
        ("loss", pa.float64()),
    ]
)

# A row per mini-batch as a machine's folder stores it. Columns that follow from the records or
# from `contender` are left out. The time since the previous mini-batch replaces `start_ns`.
STORED = pa.schema(
    [pa.field("gap_ns", pa.int64())]
    + [
        field
        for field in BATCHES
        if field.name
        not in ("study", "machine", "framework", "variant", "device", "threads", "start_ns")
    ]
)

# A row per turn; the fields of `TurnRecord`, with times in whole microseconds.
TURNS = pa.schema(
    [
        ("workload", pa.string()),
        ("replicate", pa.int16()),
        ("round", pa.int16()),
        ("position", pa.int16()),
        ("contender", pa.string()),
        ("start_ns", pa.int64()),
        ("cores", pa.int16()),
        ("duration_us", pa.int64()),
        ("switches", pa.int32()),
        ("cpu_us", pa.int64()),
        ("waited_us", pa.int64()),
        ("steal_us", pa.int64()),
        ("other_us", pa.int64()),
        ("elsewhere_us", pa.int64()),
        ("pressure_us", pa.int64()),
        ("mhz", pa.float64()),
        ("throttles", pa.int64()),
        ("minor_faults", pa.float64()),
        ("major_faults", pa.float64()),
        ("peak_mib", pa.float64()),
        ("outside_us", pa.int64()),
        ("package_j", pa.float64()),
        ("gpu_j", pa.float64()),
    ]
)

# Values of columns that a file lacks. A column that is added to BATCHES or TURNS needs a
# value here, so that earlier files can still be read. All other columns are required.
DEFAULTS: dict[str, Any] = dict.fromkeys(
    ["steal_us", "other_us", "elsewhere_us", "pressure_us", "mhz", "throttles",
     "minor_faults", "major_faults", "peak_mib", "outside_us", "package_j", "gpu_j"]
)  # fmt: skip

# Columns that need not have a value in each row.
EMPTY = {*DEFAULTS, "cpu_us", "waited_us", "loss"}

NAMES = {
    "study": limits.STUDY,
    "machine": limits.MACHINE,
    "workload": limits.WORKLOAD,
    "contender": limits.CONTENDER,
    "framework": limits.FRAMEWORK,
    "variant": limits.VARIANT,
    "device": limits.DEVICE,
}

DAY_NS, DAY_US = limits.DAY_S * 10**9, limits.DAY_S * 10**6
UNIX_NS = (0, 7_258_118_400 * 10**9)  # until the year 2200
COUNT = (0, 2**31 - 1)
# The least and the largest value of each column of numbers. Nothing lasts a day; processor time
# is of all threads; differences of counters may be below zero by a tick.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("replicate", "threads", "cores"), (1, 2**15 - 1)),
    **dict.fromkeys(("round", "position"), (0, 2**15 - 1)),
    **dict.fromkeys(("batch", "step", "switches"), COUNT),
    **dict.fromkeys(("data_ns", "transfer_ns", "step_ns"), (0, DAY_NS)),
    "cpu_ns": (0, 1000 * DAY_NS),
    "start_ns": UNIX_NS,
    "gap_ns": (-UNIX_NS[1], UNIX_NS[1]),  # its rows may be of several contests
    "duration_us": (0, DAY_US),
    **dict.fromkeys(("cpu_us", "waited_us", "outside_us"), (0, 1000 * DAY_US)),
    **dict.fromkeys(
        ("steal_us", "other_us", "elsewhere_us", "pressure_us"), (-DAY_US, 1000 * DAY_US)
    ),
    "mhz": (0, 1e6),
    "throttles": (0, 2**62),
    **dict.fromkeys(("minor_faults", "major_faults", "peak_mib", "package_j", "gpu_j"), (0, 1e12)),
}


def impossible(table: pa.Table) -> Iterator[str]:
    """What cannot be in the columns of a table, each in a few words. Texts have dictionaries."""
    for name in table.schema.names:
        column = table[name]
        if column.null_count and name not in EMPTY:
            yield f"column {name}: {column.null_count} empty values"
        elif name in NAMES:
            yield from strange_names(name, column)
        elif name in RANGES:
            yield from out_of_range(name, column)


def strange_names(name: str, column: pa.ChunkedArray) -> Iterator[str]:
    for chunk in column.chunks:
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
        if longest > limits.TEXT:
            yield f"column {name}: a text of {longest:,} bytes"
            return
        for value in chunk.dictionary.to_pylist():
            if not re.fullmatch(NAMES[name], value):
                yield f"column {name}: {value[:80]!r} is not a name"
                return


def out_of_range(name: str, column: pa.ChunkedArray) -> Iterator[str]:
    low, high = RANGES[name]
    bounds: dict[str, Any] = pc.min_max(column).as_py()
    for value in bounds.values():
        # A NaN is not within either.
        if value is not None and not low <= value <= high:
            yield f"column {name}: {value:g} is not within {low:g} and {high:g}"
            return

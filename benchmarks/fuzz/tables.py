"""Random changes of a study's tables, mini-batches and turns. Most make impossible rows, which must
be refused."""

import random
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from workflows.records.columns import DEFAULTS, EMPTY, RANGES, STORED, TURNS

TIMES = ("data_ns", "transfer_ns", "step_ns", "duration_us")


class Change(NamedTuple):
    """A table after one change, what the change is, and whether the table must be refused."""

    table: pa.Table
    what: str
    refused: bool


def changed(table: pa.Table, draw: random.Random) -> Change:
    """One random change of a table in the columns of `STORED` or `TURNS`."""
    mini_batches = table.schema.names == STORED.names
    of_rows = (negative, absurd, repeated, missing, stranger, shuffled)
    of_rows += (flags,) * mini_batches
    of_tables = (without, cast, empty)
    kind = draw.choice((*of_rows, *of_tables))
    if kind in of_tables:
        made, refused = kind(table, draw)
    else:
        rows, refused = kind(table.to_pandas(), draw)
        schema = STORED if mini_batches else TURNS
        made = pa.Table.from_pandas(rows, schema, preserve_index=False)
    return Change(made, kind.__name__, refused)


def cell(rows: pd.DataFrame, column: str, value: object, draw: random.Random) -> pd.DataFrame:
    rows.loc[draw.randrange(len(rows)), column] = value
    return rows


def negative(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    columns = [name for name in rows if RANGES.get(name, (-1, 0))[0] >= 0]
    return cell(rows, draw.choice(columns), -draw.choice((1, 50, 10**4)), draw), True


def absurd(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """A time longer than a day. The processor time of all threads may be as long."""
    column = draw.choice([name for name in TIMES if name in rows])
    return cell(rows, column, draw.choice((10**14, 10**17, 2**62)), draw), True


def repeated(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    at = draw.randrange(len(rows))
    return pd.concat([rows.iloc[: at + 1], rows.iloc[at:]]), True


def missing(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """Drop a mini-batch that is not the last of its process, or a turn after the warm-up."""
    if "step" in rows:
        later = rows.groupby(["workload", "replicate", "contender"])["step"].transform("max")
        inside = np.flatnonzero(rows["step"] < later)
    else:
        inside = np.flatnonzero(rows["round"] > 0)
    return rows.drop(index=inside[draw.randrange(len(inside))]), True


def flags(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """One flag turned, or all of them shuffled."""
    at = draw.randrange(len(rows))
    if draw.random() < 0.5:
        rows.loc[at, "warmup"] = not rows.loc[at, "warmup"]
    else:
        before = rows["warmup"].tolist()
        rows["warmup"] = draw.sample(before, len(before))
    return rows, True


def stranger(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    names = ("jax/other/cpu/1", "../../x", "a", "a/b/c/d/e", "", "x" * 30_000, "f/v/cpu/99999")
    column = draw.choice(("contender", "workload"))
    return cell(rows, column, draw.choice(names), draw), True


def shuffled(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """A column in another order. Times and losses may be in any order, so they stay."""
    names = ("step", "batch", "round", "position", "contender", "replicate")
    column = draw.choice([name for name in names if name in rows])
    if rows[column].nunique() < 2:
        return rows, False
    values = rows[column].tolist()
    rows[column] = draw.sample(values, len(values))
    return rows, True


def without(table: pa.Table, draw: random.Random) -> tuple[pa.Table, bool]:
    name = draw.choice(table.schema.names)
    return table.drop_columns([name]), name not in DEFAULTS


def cast(table: pa.Table, draw: random.Random) -> tuple[pa.Table, bool]:
    """A column of another type."""
    at = draw.randrange(table.num_columns)
    wrong = [[1]] if draw.random() < 0.5 else [b"7"]
    return table.set_column(at, table.schema.names[at], pa.array(wrong * len(table))), True


def empty(table: pa.Table, draw: random.Random) -> tuple[pa.Table, bool]:
    """A missing value."""
    at = draw.randrange(table.num_columns)
    name, values = table.schema.names[at], table.column(at).to_pylist()
    values[draw.randrange(len(values))] = None
    column = pa.array(values, table.schema.types[at])
    return table.set_column(at, name, column), name not in EMPTY

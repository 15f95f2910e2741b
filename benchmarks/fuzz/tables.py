"""Random changes of a study's tables. Most make impossible rows, which must be refused."""

import random
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from workflows.records.columns import STORED

TIMES = ("data_ns", "transfer_ns", "step_ns", "cpu_ns")
COUNTS = ("replicate", "round", "position", "batch", "step", "switches")


class Change(NamedTuple):
    """A table after one change, what the change is, and whether the table must be refused."""

    table: pa.Table
    what: str
    refused: bool


def changed(table: pa.Table, draw: random.Random) -> Change:
    """One random change of mini-batches, in the columns of `STORED`."""
    kinds = (negative, absurd, repeated, missing, flags, stranger, shuffled, without, cast, empty)
    kind = draw.choice(kinds)
    made, refused = kind(table.to_pandas(), draw)
    if isinstance(made, pd.DataFrame):
        schema = pa.schema([field for field in STORED if field.name in made.columns])
        made = pa.Table.from_pandas(made, schema, preserve_index=False)
    return Change(made, kind.__name__, refused)


def cell(rows: pd.DataFrame, column: str, value: object, draw: random.Random) -> pd.DataFrame:
    rows.loc[draw.randrange(len(rows)), column] = value
    return rows


def negative(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    return cell(rows, draw.choice((*TIMES, *COUNTS)), -draw.choice((1, 50, 10**4)), draw), True


def absurd(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """A time longer than a day. The processor time of all threads may be as long."""
    column = draw.choice(TIMES[:3])
    return cell(rows, column, draw.choice((10**14, 10**17, 2**62)), draw), True


def repeated(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    at = draw.randrange(len(rows))
    return pd.concat([rows.iloc[: at + 1], rows.iloc[at:]]), True


def missing(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    """Drop a row that is not the last of its process."""
    later = rows.groupby(["workload", "replicate", "contender"])["step"].transform("max")
    inside = np.flatnonzero(rows["step"] < later)
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
    column = draw.choice(("step", "round", "position", "batch", "contender", "replicate"))
    if rows[column].nunique() < 2:
        return rows, False
    values = rows[column].tolist()
    rows[column] = draw.sample(values, len(values))
    return rows, True


def without(rows: pd.DataFrame, draw: random.Random) -> tuple[pd.DataFrame, bool]:
    return rows.drop(columns=draw.choice(list(rows.columns))), True


def cast(rows: pd.DataFrame, draw: random.Random) -> tuple[pa.Table, bool]:
    """A column of another type."""
    at = draw.randrange(len(STORED))
    table = pa.Table.from_pandas(rows, STORED, preserve_index=False)
    wrong = pa.array([[1]] * len(rows)) if draw.random() < 0.5 else pa.array([b"7"] * len(rows))
    return table.set_column(at, STORED.names[at], wrong), True


def empty(rows: pd.DataFrame, draw: random.Random) -> tuple[pa.Table, bool]:
    """A missing value. Only a loss may be missing."""
    at = draw.randrange(len(STORED) - 1)
    table = pa.Table.from_pandas(rows, STORED, preserve_index=False)
    values = table.column(at).to_pylist()
    values[draw.randrange(len(values))] = None
    return table.set_column(at, STORED.names[at], pa.array(values, STORED.types[at])), True

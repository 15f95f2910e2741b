"""Reads mini-batches chunk by chunk, so that a report never holds all rows of a large study.

A chunk has whole turns, and each of its columns is in one piece."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workflows.records.limits import LONGEST_TURN
from workflows.records.storage import RecordError

# What the rows of a turn have in common.
TURN = (
    "study", "machine", "workload", "replicate", "contender", "framework", "variant", "device",
    "threads", "round",
)  # fmt: skip
Places = NDArray[np.integer[Any]]


def whole_turns(path: Path, chunks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut chunks between turns instead. Raises RecordError if a turn has too many rows."""
    rest: list[pa.Table] = []
    for chunk in chunks:
        last = int(beginnings(chunk, TURN)[-1])
        if last == 0 and rest and turn_of(chunk) == turn_of(rest[-1]):
            rest.append(chunk)
        else:
            if found := [table for table in (*rest, chunk[:last]) if table.num_rows]:
                yield in_one_piece(found)
            rest = [chunk[last:]]
        if (rows := sum(table.num_rows for table in rest)) > LONGEST_TURN:
            raise RecordError(
                f"{path}: a turn of {rows:,} rows or more, at most {LONGEST_TURN:,} are read"
            )
    if rest:
        yield in_one_piece(rest)


def in_one_piece(chunks: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(chunks).unify_dictionaries().combine_chunks()


def turn_of(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.select(TURN)[:1].to_pylist()
    return found


def beginnings(table: pa.Table, common: Sequence[str]) -> Places:
    """The places of the rows in which one of these columns changes, and of the first row."""
    columns = (numbers(table, name) for name in common)
    changes = reduce(np.logical_or, (values[1:] != values[:-1] for values in columns))
    found: Places = np.r_[0, 1 + np.flatnonzero(changes)]
    return found


def numbers(table: pa.Table, name: str) -> NDArray[Any]:
    """The values of a column in one piece; for text, the indices into its dictionary."""
    (values,) = table[name].chunks
    values = values.indices if pa.types.is_dictionary(values.type) else values
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found


def ahead(chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same chunks; another thread reads each while the caller works on the one before."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield chunk

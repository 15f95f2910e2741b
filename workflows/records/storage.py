"""Records to and from files: whole or not at all, and checked when read."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from workflows.records.schema import BATCHES, Record

R = TypeVar("R", bound=Record)


class RecordError(Exception):
    """A record that cannot be read: which file, and what is wrong with it."""


def write_json(path: Path, record: Record) -> None:
    """Put a record in place in one go: it is there whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(record.model_dump_json(indent=1) + "\n")


def read_json(path: Path, kind: type[R]) -> R:
    """Read a record. Raises RecordError, naming the file and the field that is wrong."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise RecordError(f"{path}: {where}: {first['msg']}") from None


def write_batches(path: Path, columns: dict[str, Any] | pa.Table) -> None:
    """Write mini-batches in one go, in exactly the columns of `BATCHES`."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns, schema=BATCHES)
    with atomic(path) as temporary:
        pq.write_table(table.cast(BATCHES), temporary, compression="zstd")


def read_batches(path: Path) -> pa.Table:
    """Read mini-batches. Raises RecordError where the columns are not those of `BATCHES`."""
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise RecordError(f"{path}: not a readable Parquet file ({error})") from None
    if table.schema.remove_metadata() != BATCHES:
        wrong = sorted(set(BATCHES.names) ^ set(table.schema.names)) or "types differ"
        raise RecordError(f"{path}: not the columns of a mini-batch table: {wrong}")
    return table


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)

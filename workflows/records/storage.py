"""Writes records whole or not at all, and checks them on reading.

Records may be of other people. A file that is too large, unpacks to too much, or holds what cannot
be is refused in one line that names the file and the key.
"""

import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from workflows.records.columns import BATCHES, DEFAULTS, impossible
from workflows.records.earlier import READABLE, upgraded
from workflows.records.limits import FILE, ROWS, TEXT
from workflows.records.private import anonymous
from workflows.records.schema import SCHEMA, Record

R = TypeVar("R", bound=Record)

COMPRESSED = ".zst"  # `zstd -dc FILE` prints what is inside
LEVEL = 19
PART = 2**20  # bytes that are unpacked at once
VERSION = b"samestep_schema"  # in the metadata of Parquet files
# Escape sequences of terminals, other control characters, and those that turn the direction of
# text. Messages of frameworks have them; pages, drawings and terminals must not.
UNPRINTABLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
# In bytes of JSON, whatever may stand for one of them.
SUSPECT = re.compile(rb"\\[ubf]|\x7f|\xc2[\x80-\x9f]|\xe2[\x80\x81]|\xef\xbf[\xbe\xbf]")
SHOWN = 200  # characters of what is wrong
# What Arrow raises for damaged files.
DAMAGED = (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError, KeyError)


class RecordError(Exception):
    """A record that cannot be read: which file, and what is wrong with it."""


def write_json(path: Path, record: Record, **options: Any) -> None:
    """Write a record in one go, so that the file is there whole or not at all.

    A file that ends in `.zst` is compressed. Pydantic's `model_dump` gets the `options`. The file
    says nothing about who writes it (private.py), unless the record is `local`.
    """
    small = path.suffix == COMPRESSED
    values = record.model_dump(mode="json", **options)
    values = values if record.local else anonymous(values)
    content = to_json(values, indent=None if small else 1, inf_nan_mode="constants") + b"\n"
    if small:
        content = pa.Codec("zstd", compression_level=LEVEL).compress(content, asbytes=True)
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read_json(path: Path, kind: type[R]) -> R:
    """Read a record of any readable schema, without unprintable characters in its texts.

    Raises:
        RecordError: it cannot be read; the message names the file and the field that is wrong.
    """
    try:
        require_size(path)
        content = path.read_bytes()
        if path.suffix == COMPRESSED:
            content = decompressed(path, content)
        values = from_json(content)
        values = printable(values) if SUSPECT.search(content) else values
        version = values.get("schema_version", SCHEMA) if isinstance(values, dict) else SCHEMA
        if version not in READABLE:
            raise RecordError(
                f"{path}: schema version {shown(version)}, this samestep reads "
                f"{READABLE[0]} to {READABLE[-1]}"
            )
        return kind.model_validate(upgraded(values))
    except ValidationError as error:
        raise RecordError(f"{path}: {what(error)}") from None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or shown(error)}") from None
    except ValueError as error:
        raise RecordError(f"{path}: file: Invalid JSON: {shown(error)}") from None
    except (KeyError, TypeError, AttributeError) as error:
        text = shown(repr(error))
        raise RecordError(f"{path}: not a record of an earlier schema: {text}") from None


def require_size(path: Path) -> None:
    """Raises RecordError if it is no file, or too large a one; OSError if it is not there."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise RecordError(f"{path}: not a file")
    if found.st_size > FILE:
        raise RecordError(f"{path}: {found.st_size:,} bytes, at most {FILE:,} are read")


def decompressed(path: Path, content: bytes) -> bytes:
    """What is in a zstd stream. Raises RecordError if that is too much, before it is there."""
    found = bytearray()
    with pa.input_stream(pa.BufferReader(content), compression="zstd") as stream:
        while part := stream.read(PART):
            found += part
            if len(found) > FILE:
                raise RecordError(f"{path}: unpacks to more than {FILE:,} bytes")
    return bytes(found)


def what(error: ValidationError) -> str:
    """The first thing that is wrong with a record: `contests.0.machine: ...`."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "file"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch":
        message = f"{first['input'][:60]!r} is not a name of this kind"
    return f"{shown(where)}: {shown(message)}"


def shown(text: object) -> str:
    """A text on one line, and not too long."""
    return " ".join(UNPRINTABLE.sub("", str(text)[: 10 * SHOWN]).split())[:SHOWN]


def printable(value: Any) -> Any:
    """The value as JSON has it, without `UNPRINTABLE` characters in any text of it."""
    if isinstance(value, str):
        return UNPRINTABLE.sub("", value)
    if isinstance(value, list):
        return [printable(item) for item in value]
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    return value


def write_batches(path: Path, columns: dict[str, Any] | pa.Table) -> None:
    """Write mini-batches in one go, in exactly the columns of `BATCHES`."""
    write_table(path, columns, BATCHES)


def write_table(path: Path, columns: dict[str, Any] | pa.Table, schema: pa.Schema) -> None:
    """Write a table in one go, in exactly the columns of `schema`.

    Numbers are stored by the place of their bytes, because the high bytes of neighbours are
    alike; the file takes half as much space. Each page has a checksum.
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(columns, schema=schema)
    numbers = [
        f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)
    ]
    with atomic(path) as temporary:
        pq.write_table(
            table.cast(schema).replace_schema_metadata({VERSION: str(SCHEMA)}),
            temporary,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[name for name in schema.names if name not in numbers],
            column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
            write_page_checksum=True,
        )


def read_batches(path: Path) -> pa.Table:
    """Read mini-batches, in the columns of `BATCHES`. Raises RecordError."""
    return read_table(path, BATCHES)


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a table by the names of its columns. A column that the file lacks has the value in
    `DEFAULTS`, if there is one; other columns of the file are left out.

    Raises:
        RecordError: it cannot be read, a required column is missing, a type differs, or a value
            cannot be.
    """
    try:
        require_size(path)
        table = stored_columns(path, schema)
        version = int((table.schema.metadata or {}).get(VERSION, SCHEMA))
    except DAMAGED as error:
        text = getattr(error, "strerror", None) or error
        raise RecordError(f"{path}: not a readable Parquet file ({shown(text)})") from None
    if version > SCHEMA:
        raise RecordError(f"{path}: schema version {version}, this samestep reads up to {SCHEMA}")
    columns = []
    for field in schema:
        if field.name in table.schema.names:
            found = table[field.name]
            if pa.types.is_dictionary(found.type) and field.type == pa.string():
                found = found.cast(pa.string())
            if found.type != field.type:
                raise RecordError(
                    f"{path}: column {field.name}: types differ ({found.type} in the file, "
                    f"{field.type} is wanted)"
                )
        elif field.name in DEFAULTS:
            found = pa.repeat(pa.scalar(DEFAULTS[field.name], field.type), table.num_rows)
        else:
            raise RecordError(f"{path}: column {field.name} is missing")
        columns.append(found)
    made = pa.table(columns, schema=schema)
    if fault := next(impossible(made), ""):
        raise RecordError(f"{path}: {fault}")
    return made


def stored_columns(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of a Parquet file that a schema asks for. Texts are read by their dictionary,
    because a few bytes of a file may repeat a long text in every row.

    Raises RecordError if the file holds too much, and what Arrow raises if it is damaged.
    """
    with pq.ParquetFile(path) as file:
        about, names = file.metadata, file.schema_arrow.names
    parts = (about.row_group(number).num_rows for number in range(about.num_row_groups))
    if (rows := max(about.num_rows, sum(parts))) > ROWS:
        raise RecordError(f"{path}: {rows:,} rows, at most {ROWS:,} are read")
    asked = [field for field in schema if field.name in names]
    for field in asked:
        if names.count(field.name) > 1:
            raise RecordError(f"{path}: column {field.name} is there twice")
    texts = [field.name for field in asked if pa.types.is_string(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True) as file:
        table = file.read(columns=[field.name for field in asked])
    table.validate(full=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else []:
            longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
            if longest > TEXT:
                raise RecordError(f"{path}: column {name}: a text of {longest:,} bytes")
    return table


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place if the block succeeds.

    Its name is fixed, so that what a killed process has left is written again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def unforeseen(where: object) -> Iterator[None]:
    """Turn whatever else goes wrong in the block into a RecordError, for commands that conclude
    from records of other people. `python -X dev` shows the place instead."""
    try:
        yield
    except (RecordError, OSError):
        raise
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        text = shown(f"{type(error).__name__}: {error}")
        raise RecordError(f"{where}: these records cannot be used ({text})") from None

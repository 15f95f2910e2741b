"""Writes records whole or not at all, and checks them on reading.

Records may be of other people. A file that is too large, unpacks to too much, or holds what cannot
be is refused in one line that names the file and the key.
"""

import hashlib
import re
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from workflows.records.columns import BATCHES, DEFAULTS, impossible
from workflows.records.earlier import READABLE, renamed_fields, upgraded
from workflows.records.limits import ALL_ROWS, ROWS, TABLE
from workflows.records.private import UNPRINTABLE, anonymous
from workflows.records.schema import SCHEMA, Record
from workflows.records.whole_files import atomic

R = TypeVar("R", bound=Record)

# The kinds of the values of a machine's records that an earlier schema is read by.
OUTLINE = {"study": dict, "contests": list, "certificates": list}
COMPRESSED = ".zst"  # `zstd -dc FILE` prints what is inside
# The last frame of a compressed file, which zstd skips (RFC 8878, section 3.1.2): the SHA-256 of
# the content. Arrow does not write zstd's own checksum.
DIGEST = struct.pack("<II", 0x184D2A50, hashlib.sha256().digest_size)
LAST = len(DIGEST) + hashlib.sha256().digest_size
LEVEL = 19
PART = 2**20  # bytes that are unpacked at once
READ = 2**17  # rows that are read at once
VERSION = b"samestep_schema"  # in the metadata of Parquet files
# In bytes of JSON, whatever may stand for one of them.
SUSPECT = re.compile(
    rb"\\[ubfr]|\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2[\x80\x81]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])"
    rb"|\xf3\xa0[\x80\x81]"
)
SHOWN = 200  # characters of what is wrong
# Of a JSON file when it is unpacked: fifty times what the largest committed one has. Values take
# far more memory than their bytes.
BYTES, VALUES, KEYS = 150_000_000, 9_000_000, 100_000  # `KEYS`: of one object
# What Arrow raises for damaged files.
DAMAGED = (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError, KeyError)


class RecordError(Exception):
    """A record that cannot be read: which file, and what is wrong with it, on one line without
    unprintable characters. The file may have them in its name."""

    def __init__(self, text: str) -> None:
        super().__init__(plain_line(text))


def plain_line(text: str) -> str:
    return UNPRINTABLE.sub("", " ".join(text.splitlines()))


def write_json(path: Path, record: Record, **options: Any) -> None:
    """Write a record in one go, so that the file is there whole or not at all.

    A file that ends in `.zst` is compressed, with a digest. Pydantic's `model_dump` gets the
    `options`. The file says nothing about who writes it (private.py), unless the record is `local`.
    """
    small = path.suffix == COMPRESSED
    values = record.model_dump(mode="json", **options)
    values = values if record.local else anonymous(values)
    content = to_json(values, indent=None if small else 1, inf_nan_mode="constants") + b"\n"
    if small:
        frame = pa.Codec("zstd", compression_level=LEVEL).compress(content, asbytes=True)
        content = frame + DIGEST + hashlib.sha256(content).digest()
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read_json(path: Path, kind: type[R]) -> R:
    """Read a record of any readable schema, without unprintable characters in its texts. A line
    on the terminal says if a machine's records have an earlier one.

    Raises:
        RecordError: it cannot be read; the message names the file and the field that is wrong.
    """
    try:
        require_size(path, BYTES)
        content: bytes | bytearray = path.read_bytes()
        if path.suffix == COMPRESSED:
            content = decompressed(path, content)
        values = parsed(path, content)
        values = printable(values) if SUSPECT.search(content) else values
        version = values.get("schema_version", SCHEMA) if isinstance(values, dict) else SCHEMA
        if version not in READABLE:
            raise unreadable(path, version)
        for key, kinds in OUTLINE.items() if version != SCHEMA and "contests" in values else ():
            if not isinstance(values.get(key, kinds()), kinds):
                found = shown(repr(values[key]))
                raise RecordError(f"{path}: {key}: a {kinds.__name__} is wanted, got {found}")
        record = kind.model_validate(upgraded(values))
    except ValidationError as error:
        raise RecordError(f"{path}: {what(error)}") from None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or shown(error)}") from None
    except ValueError as error:
        raise RecordError(f"{path}: file: Invalid JSON: {shown(error)}") from None
    except KeyError as error:
        raise RecordError(f"{path}: {shown(error.args[0])}: this key is missing") from None
    except (TypeError, AttributeError) as error:
        text = shown(repr(error))
        raise RecordError(f"{path}: not a record of an earlier schema: {text}") from None
    if line := renamed_fields(values, path.parent):
        print(plain_line(line), file=sys.stderr)
    return record


def unreadable(path: Path, version: object) -> RecordError:
    which = f"this samestep reads {READABLE[0]} to {READABLE[-1]}"
    return RecordError(f"{path}: schema version {shown(version)}, {which}")


def require_size(path: Path, most: int) -> None:
    """Raises RecordError if it is no file, or too large a one; OSError if it is not there."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise RecordError(f"{path}: not a file")
    if found.st_size > most:
        raise RecordError(f"{path}: {found.st_size:,} bytes, at most {most:,} are read")


def decompressed(path: Path, content: bytes | bytearray) -> bytearray:
    """What is in a zstd stream. Earlier versions wrote no digest of it.

    Raises:
        RecordError: it is too much, which is found before it is there, or not what was written.
    """
    found, digest = bytearray(), b""
    if content[-LAST:].startswith(DIGEST):
        content, digest = content[:-LAST], bytes(content[-LAST:]).removeprefix(DIGEST)
    with pa.input_stream(pa.BufferReader(content), compression="zstd") as stream:
        while chunk := stream.read(PART):
            found += chunk
            if len(found) > BYTES:
                raise RecordError(f"{path}: unpacks to more than {BYTES:,} bytes")
    if digest and hashlib.sha256(found).digest() != digest:
        raise RecordError(f"{path}: damaged: it does not unpack to what was written")
    return found


def parsed(path: Path, content: bytes | bytearray) -> Any:
    """The values of JSON. Raises RecordError if there are too many, before they are made."""
    values = sum(content.count(mark) for mark in (b",", b"[", b"{"))  # or fewer: texts have some
    if values > VALUES:
        raise RecordError(f"{path}: {values:,} values, at most {VALUES:,} are read")
    found = from_json(content)
    waiting = [found] if content.count(b":") > KEYS else []  # each key has one
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and len(one) > KEYS:
            raise RecordError(f"{path}: an object of {len(one):,} keys, at most {KEYS:,} are read")
        if isinstance(one, dict | list):
            items = one.values() if isinstance(one, dict) else one
            waiting += [item for item in items if isinstance(item, dict | list)]
    return found


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
    return with_texts(value, lambda text: UNPRINTABLE.sub("", text))


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A value as JSON has it, with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [with_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): with_texts(item, change) for key, item in value.items()}
    return value


def write_batches(path: Path, columns: dict[str, Any] | pa.Table) -> None:
    """Write mini-batches in one go, in exactly the columns of `BATCHES`."""
    write_table(path, columns, BATCHES)


def write_table(path: Path, columns: dict[str, Any] | pa.Table, schema: pa.Schema) -> None:
    """Write a table in one go, in exactly the columns of `schema`."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns, schema=schema)
    write_chunks(path, [table], schema)


def write_chunks(path: Path, chunks: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write a table chunk by chunk, each in row groups of its own.

    Numbers are stored by the place of their bytes, because the high bytes of neighbours are
    alike; the file takes half as much space. Each page has a checksum.
    """
    numbers = [
        f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)
    ]
    schema = schema.with_metadata({VERSION: str(SCHEMA)})
    with (
        atomic(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[name for name in schema.names if name not in numbers],
            column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
            write_page_checksum=True,
        ) as file,
    ):
        for chunk in chunks:
            file.write_table(chunk.cast(schema))


@dataclass(frozen=True)
class Chunks:
    """A table that is read chunk by chunk. Texts are read by their dictionary, because a few bytes
    of a file may repeat a long text in every row; each chunk has one dictionary for a column."""

    path: Path
    schema: pa.Schema
    rows: int
    tables: Iterator[pa.Table]

    def whole(self) -> pa.Table:
        """All chunks together. Raises RecordError for too many rows, or as `read_chunks` does."""
        if self.rows > ROWS:
            raise RecordError(f"{self.path}: {self.rows:,} rows, at most {ROWS:,} are read at once")
        tables = (table.cast(self.schema) for table in self.tables)
        return pa.concat_tables([self.schema.empty_table(), *tables])


def read_batches(path: Path) -> pa.Table:
    """Read mini-batches, in the columns of `BATCHES`. Raises RecordError."""
    return read_table(path, BATCHES)


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a whole table, as `read_chunks` does."""
    return read_chunks(path, schema).whole()


def read_chunks(path: Path, schema: pa.Schema) -> Chunks:
    """Read a table by the names of its columns. A column that the file lacks has the value in
    `DEFAULTS`, if there is one. Checksums do not cover names, so a damaged name is an unknown one.

    Raises:
        RecordError: it cannot be read, a required column is missing, a column is unknown, a type
            differs, or, from the chunks, a value cannot be or rows are missing.
    """
    try:
        require_size(path, TABLE)
        with pq.ParquetFile(path) as file:
            about, found = file.metadata, file.schema_arrow
        version = int((found.metadata or {}).get(VERSION, SCHEMA))
        chunks = (about.row_group(number).num_rows for number in range(about.num_row_groups))
        rows = max(about.num_rows, sum(chunks))
    except DAMAGED as error:
        raise damaged(path, error) from None
    if rows > ALL_ROWS:
        raise RecordError(f"{path}: {rows:,} rows, at most {ALL_ROWS:,} are read")
    if version not in READABLE:
        raise unreadable(path, version)
    if unknown := [name for name in found.names if name not in schema.names]:
        which = f"column {shown(repr(unknown[0]))} is none of samestep's"
        raise RecordError(f"{path}: {which}: damaged, or written by a newer samestep")
    for field in schema:
        if found.names.count(field.name) > 1:
            raise RecordError(f"{path}: column {field.name} is there twice")
        if field.name not in found.names:
            if field.name not in DEFAULTS:
                raise RecordError(f"{path}: column {field.name} is missing")
            continue
        own = found.field(field.name).type
        if (own.value_type if pa.types.is_dictionary(own) else own) != field.type:
            raise RecordError(
                f"{path}: column {field.name}: types differ ({shown(own)} in the file, "
                f"{field.type} is wanted)"
            )
    return Chunks(path, schema, rows, chunks_of(path, schema, found.names, rows))


def chunks_of(path: Path, schema: pa.Schema, there: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """The chunks of a table, checked. `there` names the columns of the file, which says that it has
    so many `rows`. Raises RecordError."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    options = {"read_dictionary": texts, "page_checksum_verification": True}
    left = rows
    try:
        # pre_buffer would keep all bytes of the file in memory.
        with pq.ParquetFile(path, pre_buffer=False, **options) as file:
            for batch in file.iter_batches(READ, columns=there):
                left -= batch.num_rows
                batch.validate(full=True)
                found = [
                    batch[field.name]
                    if field.name in there
                    else pa.repeat(pa.scalar(DEFAULTS[field.name], field.type), batch.num_rows)
                    for field in schema
                ]
                made = pa.table(found, schema.names)
                if fault := next(impossible(made), ""):
                    raise RecordError(f"{path}: {fault}")
                yield made
    except DAMAGED as error:
        raise damaged(path, error) from None
    if left:
        raise RecordError(f"{path}: {rows - left:,} of {rows:,} rows can be read")


def damaged(path: Path, error: Exception) -> RecordError:
    if isinstance(error, UnicodeEncodeError):  # Arrow's paths are texts
        return RecordError(f"{path}: the name of a folder or file here is no UTF-8: rename it")
    text = getattr(error, "strerror", None) or error
    return RecordError(f"{path}: not a readable Parquet file ({shown(text)})")


@contextmanager
def unforeseen(where: object) -> Iterator[None]:
    """Turn whatever else goes wrong in the block into a RecordError, for commands that conclude
    from records of other people. `python -X dev` shows the place instead."""
    try:
        yield
    except (RecordError, OSError, MemoryError):
        raise
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        text = shown(f"{type(error).__name__}: {error}")
        raise RecordError(f"{where}: these records cannot be used ({text})") from None

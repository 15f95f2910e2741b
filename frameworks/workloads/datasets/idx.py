"""IDX, the file format of MNIST: a magic number, the dimensions, then the values.

The magic number is two zero bytes, a type code (8: unsigned byte) and the number of
dimensions; each dimension is a big-endian 32-bit integer (LeCun, Cortes and Burges,
http://yann.lecun.com/exdb/mnist/).
"""

import gzip
import hashlib
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np

from frameworks.workloads.datasets.errors import DataError

UNSIGNED_BYTE = 8


class IdxError(DataError, ValueError):
    """A file that is not the IDX file it should be; the message names it."""


def read(path: Path, dimensions: int, sha256: str | None = None) -> np.ndarray:
    """Read unsigned bytes from an IDX file, gzipped or not, whatever its name says.

    `sha256` is that of the decompressed file. Returns a read-only uint8 array of that many
    dimensions.

    Raises:
        IdxError: unreadable, damaged, truncated, too long, of another type or shape, or
            not the file of that SHA-256.
    """
    try:
        content = decompressed(path.read_bytes())
        array = parse(content, dimensions)
    except OSError as error:
        raise IdxError(f"{path}: cannot be read ({error.strerror})") from None
    except IdxError as error:
        raise IdxError(f"{path}: {error}") from None
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise IdxError(f"{path}: altered: its SHA-256 is not the published {sha256[:12]}...")
    return array


def decompressed(content: bytes) -> bytes:
    """The content itself unless it begins as gzip does."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except EOFError:
        raise IdxError("truncated: the gzip stream stops early") from None
    except (gzip.BadGzipFile, zlib.error, struct.error) as error:
        raise IdxError(f"damaged gzip ({error})") from None


def parse(content: bytes, dimensions: int) -> np.ndarray:
    if not content:
        raise IdxError("empty")
    if len(content) < 4:
        raise IdxError(f"truncated: {len(content)} bytes are no IDX header")
    zeros, code, found = struct.unpack(">HBB", content[:4])
    if zeros or not code:
        raise IdxError(f"not an IDX file: it begins with {content[:4]!r}")
    if code != UNSIGNED_BYTE:
        raise IdxError(f"type code 0x{code:02x} where 0x08 (unsigned byte) is wanted")
    if found != dimensions:
        raise IdxError(f"{found} dimensions where {dimensions} are wanted")
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise IdxError(f"truncated: {len(content)} of the header's {header} bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    values = len(content) - header
    if values < prod(shape):
        raise IdxError(f"truncated: {values:,} of the {prod(shape):,} values of shape {shape}")
    if values > prod(shape):
        raise IdxError(f"{values - prod(shape):,} trailing bytes after the values of {shape}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)

"""Mini-batches on disk: stored once in training order, opened by every contender."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

Kind = Literal["normal", "mnist", "stand-in", "tokens", "pixels"]  # of data sets
INPUTS, TARGETS, PIXELS = "inputs.npy", "targets.npy", "pixels.npy"

# Initial weights are drawn from `default_rng(seed)`, which is that of [seed, 0]: start at 1.
STREAMS = {"order": 1, "inputs": 2, "labels": 3}


class DataError(Exception):
    """Data cannot be found or stored; the message says what is wrong, where, and what to do."""


class Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True)
class Column:
    """One array of a data set, made a mini-batch at a time: `shape` is (batches, batch, ...)."""

    shape: tuple[int, ...]
    dtype: type[np.float32] | type[np.int32] | type[np.uint8]
    parts: Iterator[np.ndarray]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Batches:
    """A workload's mini-batches before they are drawn.

    `samples` counts the samples of the data set, including the short last mini-batch, which is
    dropped. `pixels` are what the inputs were prepared from, if anything.
    """

    kind: Kind
    source: str
    samples: int
    inputs: Column
    targets: Column
    pixels: Column | None = None


def generator(seed: int, stream: str) -> np.random.Generator:
    """Random numbers for one purpose, independent of every other purpose."""
    return np.random.default_rng([seed, STREAMS[stream]])


def store(path: Path, column: Column, digest: Digest) -> None:
    """Write a column as .npy, one mini-batch in memory at a time, and digest the file.

    A full disk raises an OSError here. In a memory map it would kill the process.
    """
    header = BytesIO()
    description = np.lib.format.dtype_to_descr(np.dtype(column.dtype))
    np.lib.format.write_array_header_1_0(
        header, {"descr": description, "fortran_order": False, "shape": column.shape}
    )
    with path.open("wb") as file:
        file.write(header.getvalue())
        digest.update(header.getvalue())
        for part in column.parts:
            content = np.ascontiguousarray(part, column.dtype).tobytes()
            file.write(content)
            digest.update(content)


def open_batches(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (batches, batch, ...) and targets (batches, batch, ...), as
    `Workload.target_shape` has them, read-only and memory-mapped, so that all contenders share
    one copy in the page cache.

    Raises:
        DataError: a file is missing or incomplete; the message names it.
    """
    inputs, targets = (opened(Path(folder) / name) for name in (INPUTS, TARGETS))
    if inputs.shape[:2] != targets.shape[:2]:
        raise DataError(f"{folder}: inputs {inputs.shape} and targets {targets.shape} do not match")
    return inputs, targets


ANEW = "delete {}, and the next run prepares the data set anew"


def opened(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; {ANEW.format(path.parent)}") from None
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: cannot be opened ({error}); {ANEW.format(path.parent)}") from None
    return array

"""Reads settings without a getter off what the framework does.

Adapters call these functions with the framework's own operations, in this repository or in a
package of their own. Nothing here imports a framework.
"""

import re
import resource
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.conditions import Setting

NUMBERS = 1 << 20  # enough that every thread of a pool computes some
BYTES = 40 << 20  # glibc may keep blocks of up to 32 MB
ATTEMPTS = 6
FAULTS = BYTES >> 22  # half of the page faults that BYTES cost in huge pages of 2 MB


def denormals(precision: str, halve: Callable[[np.ndarray], np.ndarray]) -> str:
    """`kept` or `flushed`; `mixed` if the framework's threads differ.

    `halve` multiplies an array by 0.5 in the framework. It gets the smallest normal numbers of
    this precision, whose halves are denormal.
    """
    smallest = np.full(NUMBERS, np.finfo(precision).tiny, precision)
    halves = np.ascontiguousarray(halve(smallest))
    # Compared as integers: a process that flushes denormals takes them for zero.
    kept = int(np.count_nonzero(halves.view(f"u{halves.itemsize}")))
    return {0: "flushed", NUMBERS: "kept"}.get(kept, "mixed")


def memory(allocate: Callable[[int], Any]) -> dict[str, Setting]:
    """How the framework takes memory from the system. `allocate` has it fill a block of this many
    bytes on the processor."""
    return {"freed_memory": freed_memory(allocate), "huge_pages": huge_pages()}


def freed_memory(allocate: Callable[[int], Any]) -> str:
    """`kept` if memory that is freed and allocated again causes no page faults, else `returned`."""
    # Each size twice, because an allocator may keep a freed block for the same size only. Ever
    # smaller sizes, because other allocations may have taken a piece of the last block.
    sizes = [BYTES - (attempt // 2 << 16) for attempt in range(ATTEMPTS)]
    return "kept" if any(page_faults(allocate, size) < FAULTS for size in sizes) else "returned"


def threads(name: str) -> int:
    """How many threads of this process have the name; 0 on another system than Linux."""
    found = 0
    for thread in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # it has ended
            found += thread.read_text().strip() == name
    return found


def huge_pages() -> str:
    """`used` if this process has about a block of `freed_memory` in huge pages, else `not used`."""
    try:
        known = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return "n/a"  # another system than Linux
    kilobytes = re.search(r"AnonHugePages: +(\d+)", known)
    return "used" if kilobytes and int(kilobytes[1]) << 10 >= BYTES // 2 else "not used"


def page_faults(allocate: Callable[[int], Any], size: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    allocate(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def relu_and_pool(operations: Iterable[str]) -> str:
    """Which comes first wherever the two are neighbours: `relu first`, `pool first`, both, `n/a`.

    `operations` in the order of the forward pass: `relu`, `pool`, or "" for any other.
    """
    neighbours = [pair for pair in pairwise(operations) if {*pair} == {"relu", "pool"}]
    return every(f"{first} first" for first, _ in neighbours)


def every(values: Iterable[str]) -> str:
    """All values that occur, joined by `and`; `n/a` if there is none."""
    return " and ".join(sorted({*values})) or "n/a"


def with_options(name: str, options: Mapping[str, object]) -> str:
    """`torch.compile, max_autotune=True`"""
    return ", ".join([name, *(f"{key}={value}" for key, value in sorted(options.items()))])


def on(modes: Mapping[str, bool]) -> str:
    """The modes that are on, joined by `and`; `off` if none is."""
    return " and ".join(sorted(name for name, is_on in modes.items() if is_on)) or "off"

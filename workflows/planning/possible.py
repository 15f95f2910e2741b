"""What the values of a configuration can be. Each check raises ValueError, which names the key."""

import re
from collections.abc import Sized
from typing import Any

from frameworks.workloads import Workload, WorkloadError, load, to_dict
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.parsing import suggestion
from workflows.records.limits import MOST, bounded

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"  # of studies and workloads: they become folders
NAMED = "letters, digits, - and _ only, a letter or digit first"
LONGEST = 200  # characters of the name of a folder, of the 255 that file systems allow
LONGEST_PATH = 4000
LISTED = 200  # entries of a list
CONTENDERS = 1000
STEPS = 10**6  # of a contender in a contest
TURN = 1000  # steps, because the reference trains all of them in float64
# Of a workload. The largest networks that anybody trains are below them.
PARAMETERS, BYTES = 10**12, 10**15
REPEATS = 10**6  # of a single operation in a step
COUNTED = MOST - 1  # the largest number of a record


def few(items: Sized) -> None:
    if len(items) > LISTED:
        raise ValueError(f"{len(items):,} entries, at most {LISTED:,} are possible")


def without_repeats(items: list[Any]) -> list[Any]:
    few(items)
    for item in items:
        if items.count(item) > 1:
            raise ValueError(f"{item!r} is listed twice")
    return items


def one_line(text: str) -> str:
    if not text.isprintable() or len(text) > LONGEST:
        raise ValueError(f"one line of at most {LONGEST} printable characters, got {text!r:.80}")
    return text


def a_path(text: str) -> str:
    if not text.isprintable() or len(text) > LONGEST_PATH:
        raise ValueError(f"a path on one line is wanted, got {text!r:.80}")
    return text


def known_optimiser(kind: str) -> str:
    if kind not in OPTIMISERS:
        raise ValueError(
            f"unknown optimiser {kind!r:.80}{suggestion(kind, OPTIMISERS)} "
            f"(known: {', '.join(OPTIMISERS)})"
        )
    return kind


def buildable(entries: dict[str, Any]) -> dict[str, Any]:
    few(entries)
    for name, entry in entries.items():
        if not re.fullmatch(NAME, name):
            raise ValueError(f"{name!r:.80}: {NAMED}")
        base = (entry or {}).get("from", name)
        if not isinstance(base, str):
            raise ValueError(f"{name}: from: a name in the catalogue is wanted, got {base!r:.80}")
        try:
            require_size(load(name, entry))
        except WorkloadError as error:
            raise ValueError(f"{name}: {error!s:.600}") from None
        except Exception as error:  # any value may stand there
            raise ValueError(f"{name}: not a workload ({error!s:.200})") from None
    return entries


def require_size(workload: Workload) -> None:
    """Raises WorkloadError for a network or data set that no machine or record holds."""
    try:
        bounded(to_dict(workload))
    except ValueError as error:
        raise WorkloadError(f"its description has {error}") from None
    sample = 4
    for size in workload.dataset.shape:
        sample *= size
    single = workload.elementwise
    sizes = {
        "repeats of an operation": (single.repeat if single else 1, REPEATS),
        "parameters": (workload.parameters, PARAMETERS),
        "floating-point operations in a step": (workload.flops_per_step, COUNTED),
        "bytes of weights or operands in a step": (workload.bytes_per_step(), COUNTED),
        "bytes in the data set": (sample * workload.dataset.samples, BYTES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise WorkloadError(f"{float(size):.0e} {what}, at most {float(most):.0e} are possible")

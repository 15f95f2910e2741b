"""Sweeps: one workload in several sizes, so that the size at which two contenders change places
can be read off."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Member(NamedTuple):
    """One workload of a sweep: its size, and its configuration entry."""

    size: int
    entry: dict[str, Any]


def parameter(entry: Mapping[str, Any]) -> str:
    """The parameter that is the size: the first one of `sizes`."""
    return str(next(iter(entry["sizes"])))


def members(name: str, entry: Mapping[str, Any]) -> dict[str, Member]:
    """The workloads of a sweep, by name: `mlp-width-64` for the size 64 of the sweep `mlp-width`.

    `entry` is like the entry of a workload (`from` is the sweep's own name if it is not given),
    with `sizes`: lists of values by parameter, all of the same length. The first parameter's values
    are the sizes, from small to large; of a value that is a list itself, the first number counts.

    Raises:
        ValueError: the entry has no lists of sizes that belong together.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("sizes"), Mapping):
        raise ValueError("a sweep needs `sizes`: lists of values, by parameter")
    sizes, fixed = entry["sizes"], {key: entry[key] for key in entry if key != "sizes"}
    if not sizes or not all(isinstance(values, list) and values for values in sizes.values()):
        raise ValueError("sizes: a list of values is wanted for each parameter")
    lengths = {str(key): len(values) for key, values in sizes.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise ValueError(f"sizes: as many values for each parameter ({listed})")
    if twice := sorted(map(str, sizes.keys() & fixed.keys())):
        raise ValueError(f"sizes: {', '.join(twice)} also stands beside them")
    fixed = fixed if "layers" in fixed else {"from": name, **fixed}
    found = {}
    for values in zip(*sizes.values(), strict=True):
        size = values[0][0] if isinstance(values[0], list) and values[0] else values[0]
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"sizes: whole numbers above 0 are wanted, got {size!r:.80}")
        found[f"{name}-{size}"] = Member(size, {**fixed, **dict(zip(sizes, values, strict=True))})
    ordered = [member.size for member in found.values()]
    if len(found) < min(lengths.values()) or ordered != sorted(ordered):
        raise ValueError("sizes: each once, from small to large; of a list the first number counts")
    return found

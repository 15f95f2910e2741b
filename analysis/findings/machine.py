"""The machine as a flat table: every recorded condition, and whether it changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.data.results import Machine


@dataclass(frozen=True)
class MachineLine:
    """A row of machine.csv. A value that changed between contests is shown as its range, or as all
    its values."""

    key: str
    value: str
    changed: str


def machine_lines(machine: Machine) -> list[MachineLine]:
    found: dict[str, list[Any]] = {}
    for contest in sorted(machine.records.contests, key=lambda c: (c.started, c.replicate)):
        facts = {"system_info": contest.system_info, "samestep": contest.code.model_dump()}
        for key, value in flattened(facts):
            values = found.setdefault(key.removeprefix("system_info."), [])
            if value not in values:
                values.append(value)
    sources = [(f"dataset.{record.workload}", record.source) for record in machine.records.datasets]
    for key, value in [*versions(machine), *sources]:
        values = found.setdefault(key, [])
        if value not in values:
            values.append(value)
    return [
        MachineLine(key, joined(values), "yes" if len(values) > 1 else "no")
        for key, values in found.items()
    ]


def flattened(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested mappings and lists of mappings with their dotted keys."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from flattened(item, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from flattened(item, f"{prefix}.{number}")
    else:
        yield prefix, value


def versions(machine: Machine) -> Iterable[tuple[str, str]]:
    pairs = {
        (f"versions.{contender.framework}.{package}", version)
        for contest in machine.records.contests
        for contender in contest.contenders
        for package, version in contender.versions.items()
    }
    return sorted(pairs)


def joined(values: list[Any]) -> str:
    """One value as it is; several numbers, or several equally long lists of numbers, as
    ranges; anything else one after the other."""
    if len(values) == 1:
        return spoken(values[0])
    if all(isinstance(value, list) for value in values) and len({len(v) for v in values}) == 1:
        return ", ".join(
            joined([one for place, one in enumerate(column) if one not in column[:place]])
            for column in zip(*values, strict=True)
        )
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return f"{min(values):g} to {max(values):g}"
    return " | ".join(spoken(value) for value in values)


def spoken(value: Any) -> str:
    if value is None or value == "":
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(spoken(item) for item in value) or "none"
    return str(value)


def summary(machine: Machine) -> str:
    """A readable line about the machine, from the last contest."""
    contests = sorted(machine.records.contests, key=lambda c: (c.started, c.workload))
    system_info = contests[-1].system_info if contests else {}
    text = system_info.get("summary")
    if isinstance(text, str) and text:
        return text
    cpu = system_info.get("cpu")
    model = cpu.get("model") if isinstance(cpu, Mapping) else cpu
    return str(model or "machine not described")


def virtual(machine: Machine) -> str:
    """What kind of virtual machine or container the contests ran in, "" for none."""
    for contest in machine.records.contests:
        found = contest.system_info.get("virtualisation")
        if isinstance(found, Mapping):
            kinds = {"machine": "virtual machine", "container": "container"}
            named = [f"{found[key]} {kind}" for key, kind in kinds.items() if found.get(key)]
            if named or found.get("hypervisor"):
                return " in a ".join(reversed(named)) or "virtual machine"
        elif found and str(found).lower() not in ("none", "no", "bare metal"):
            return f"{found} virtual machine"
    return ""

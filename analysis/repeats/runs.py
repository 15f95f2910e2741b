"""Reads the runs of a comparison: one folder each, of the same machine and configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from analysis.data.loading import load
from analysis.data.results import Machine
from analysis.findings.findings import Findings
from workflows.records.storage import RecordError

# Keys in which repeats may differ beside those that only change conclusions, and those of the
# latter in which they may not, because they decide what is compared and every verdict.
FREE = {"study", "seed", "certificate", "interpreters", "isolate", "mnist.folder",
        "contest.timeout_s"}  # fmt: skip
DECISIVE = {"margin", "confidence", "smoke", "controls.alone"}


@dataclass(frozen=True)
class Run:
    """One whole study; `name` is `run 1` for the earliest."""

    name: str
    findings: Findings

    @property
    def machine(self) -> Machine:
        return self.findings.machine

    @property
    def started(self) -> list[str]:
        return started(self.machine)


def started(machine: Machine) -> list[str]:
    """When each contest was, ISO 8601, in order."""
    return sorted(contest.started for contest in machine.records.contests)


def runs(folders: Sequence[Path]) -> list[Run]:
    """Read one machine folder per run; sorted by time.

    Raises:
        RecordError: there are fewer than two folders, a folder cannot be read, or runs are not
            repeats of each other; the message says why.
    """
    if len(folders) < 2:
        raise RecordError("two runs at least are needed: a folder for each")
    machines = sorted((load([folder])[0] for folder in folders), key=started)
    found = [Run(f"run {n}", Findings(machine)) for n, machine in enumerate(machines, 1)]
    for one, other in combinations(found, 2):
        for what in differences(one.machine, other.machine):
            raise RecordError(
                f"{one.name} ({label(one.machine)}) and {other.name} ({label(other.machine)}) are "
                f"not repeats of each other: {what}"
            )
    return found


def label(machine: Machine) -> str:
    return f"study {machine.study.name}, {started(machine)[0][:16].replace('T', ' ')} UTC"


def differences(one: Machine, other: Machine) -> Iterator[str]:
    """The reasons why two studies are not repeats of each other, the most obvious first."""
    if one.name != other.name:
        yield f"they ran on different machines, {one.name} and {other.name}"
    if shared := sorted(contests(one) & contests(other)):
        workload, replicate, when = shared[0]
        yield f"contest {replicate} of {workload}, held {when}, is in both"
    for field in ("reference", "smoke", "margin", "confidence"):
        yield from told(field, getattr(one.study, field), getattr(other.study, field))
    sides = [flattened(machine.study.configuration) for machine in (one, other)]
    concluding = {*one.study.concluding} & {*other.study.concluding}
    free = FREE | concluding - DECISIVE
    for key in sorted(sides[0].keys() | sides[1].keys()):
        if key not in free and key.partition(".")[0] not in free:
            yield from told(key, *(side.get(key) for side in sides))
    for what in (workloads, contenders, datasets):
        mine, theirs = what(one), what(other)
        if odd := sorted(mine ^ theirs):
            yield f"{what.__name__} differ: {odd[0]} is in one alone"
    packages = [versions(machine) for machine in (one, other)]
    for name in sorted(packages[0].keys() & packages[1].keys()):  # none without a start
        yield from told(name, *(", ".join(found[name]) for found in packages))


def told(key: str, mine: Any, theirs: Any) -> Iterator[str]:
    if mine != theirs:
        yield f"{key} is {mine!r} in one and {theirs!r} in the other"


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Leaves by dotted key; a list is a leaf."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def contests(machine: Machine) -> set[tuple[str, int, str]]:
    return {(c.workload, c.replicate, c.started) for c in machine.records.contests}


def workloads(machine: Machine) -> set[str]:
    return {f"{w.name} {w.description}" for w in machine.records.workloads}


def contenders(machine: Machine) -> set[str]:
    return {f"{c.workload} {who.name}" for c in machine.records.contests for who in c.contenders}


def datasets(machine: Machine) -> set[str]:
    return {f"{dataset.kind} data for {dataset.workload}" for dataset in machine.records.datasets}


def versions(machine: Machine) -> dict[str, list[str]]:
    """Versions by package; several if a package changed between contests."""
    pairs = {
        pair
        for contest in machine.records.contests
        for contender in contest.contenders
        for pair in contender.versions.items()
    }
    return {name: sorted(v for n, v in pairs if n == name) for name, _ in sorted(pairs)}

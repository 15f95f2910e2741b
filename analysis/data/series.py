"""Reads a series: the same study at different times, one machine's folder each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from analysis.data.occasions import span
from analysis.data.reading import COMMON, load
from analysis.data.results import Machine
from frameworks.workloads import from_dict, to_dict
from workflows.records.storage import RecordError


def read_series(folders: Sequence[Path]) -> list[Machine]:
    """Read one machine's folder for each study; sorted by time.

    Raises:
        RecordError: a folder cannot be read, or two studies do not measure the same; the message
            says why.
    """
    machines = sorted((load([folder])[0] for folder in folders), key=span)
    check_series(machines)
    return machines


def with_others(machines: Sequence[Machine], folders: Sequence[Path]) -> list[Machine]:
    """The machines of a report, each with the other studies of it in `folders`.

    Raises:
        RecordError: as `read_series`, or a study is of a machine that the report does not have.
    """
    others = [load([folder])[0] for folder in folders]
    known = {machine.records.machine for machine in machines}
    for other in others:
        if other.name not in known:
            raise RecordError(f"{label(other)} is of {other.name}, which is not in this report")
    found = []
    for machine in machines:
        own = tuple(other for other in others if other.name == machine.records.machine)
        check_series([machine, *own])
        found.append(replace(machine, others=own))
    return found


def check_series(machines: Sequence[Machine]) -> None:
    """Raises RecordError if two studies do not measure the same."""
    for one, other in combinations(machines, 2):
        for what in differences(one, other):
            raise RecordError(
                f"{label(one)} and {label(other)} are not repeats of each other: {what}"
            )


def label(machine: Machine) -> str:
    return f"study {machine.study.name} of {span(machine)[0]:%Y-%m-%d %H:%M} UTC"


def differences(one: Machine, other: Machine) -> Iterator[str]:
    """The reasons why two studies are not repeats of each other, the most obvious first."""
    if shared := sorted(contests(one) & contests(other)):
        workload, replicate, when = shared[0]
        yield f"contest {replicate} of {workload}, which started {when}, is in both"
    for field in COMMON:
        yield from unequal(field, getattr(one.study, field), getattr(other.study, field))
    for what in (workloads, datasets):
        mine, theirs = what(one), what(other)
        for name in sorted(mine.keys() & theirs.keys()):
            yield from unequal(f"{what.__name__[:-1]} {name}", mine[name], theirs[name])
    packages = [versions(machine) for machine in (one, other)]
    for name in sorted(packages[0].keys() & packages[1].keys()):
        yield from unequal(name, *(", ".join(found[name]) for found in packages))
    if one.name == other.name:
        kept = [pages_kept(machine) for machine in (one, other)]
        if all(kept):
            yield from unequal("vm.percpu_pagelist_high_fraction", *kept)


def unequal(key: str, mine: Any, theirs: Any) -> Iterator[str]:
    if mine != theirs:
        yield f"{key} is {mine!r} in one and {theirs!r} in the other"


def contests(machine: Machine) -> set[tuple[str, int, str]]:
    return {(c.workload, c.replicate, c.started) for c in machine.records.contests}


def workloads(machine: Machine) -> dict[str, Any]:
    """With the defaults of options that a layer got after the study was recorded."""
    return {one.name: to_dict(from_dict(one.description)) for one in machine.records.workloads}


def datasets(machine: Machine) -> dict[str, Any]:
    return {dataset.workload: dataset.kind for dataset in machine.records.datasets}


def versions(machine: Machine) -> dict[str, list[str]]:
    """Versions by package; several if a package changed between contests. Python's has no third
    part, because such releases of Python only repair faults."""
    pairs = {
        (name, version.rpartition(".")[0] if name == "python" else version)
        for contest in machine.records.contests
        for contender in contest.contenders
        for name, version in contender.versions.items()
    }
    return {name: sorted(v for n, v in pairs if n == name) for name, _ in sorted(pairs)}


def pages_kept(machine: Machine) -> str:
    """The kernel's setting for the memory that cores keep (docs/noise.md), "" if not recorded."""
    for contest in machine.records.contests:
        memory = contest.system_info.get("memory")
        if isinstance(memory, Mapping) and memory.get("pages_kept_by_core"):
            return str(memory["pages_kept_by_core"])
    return ""

"""What changed around two studies: machine, system, versions, code, configuration and settings."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from analysis.data.results import Machine
from analysis.data.series import versions
from analysis.findings.fairness.settings import changed_settings
from analysis.findings.machine import flattened, machine_lines, spoken
from analysis.findings.speed.machine_speed import log_times
from analysis.format import count, percent, title
from analysis.repeats.series import NumberedStudy
from analysis.report.prose import workload

NAMES = {
    "machine": "machine",
    "replicates": "replicates",
    "cpu.model": "processor",
    "cpu.physical": "physical cores",
    "cpu.logical": "logical cores",
    "cpu.available": "cores used",
    "cpu.smt": "simultaneous multithreading",
    "cpu.governor": "frequency governor",
    "cpu.mhz.base": "base frequency, MHz",
    "cpu.mhz.max": "highest frequency, MHz",
    "cpu.numa_nodes": "NUMA nodes",
    "memory.total_gib": "memory, GiB",
    "memory.limit_gib": "memory limit, GiB",
    "memory.swap_gib": "swap, GiB",
    "memory.transparent_huge_pages": "transparent huge pages",
    "memory.pages_kept_by_core": "free pages kept by each core",
    "virtualisation.machine": "virtual machine",
    "system.name": "operating system",
    "system.kernel": "kernel",
    "system.libc": "C library",
    "system.boot": "start of the machine",
    "system.address_space_randomisation": "address space randomisation",
    "cuda_driver": "CUDA driver",
    "python": "Python of the harness",
    "samestep.version": "samestep",
    "samestep.commit": "commit of samestep",
    "samestep.dirty": "uncommitted changes",
}
# Facts that differ at every reading, or that another row shows.
PASSING = {
    "summary", "load_average", "cpu.mhz.now", "cpu.flags", "cpu.vendor", "memory.available_gib",
    "variables",
}  # fmt: skip
# Keys of the configuration with rows of their own, or that decide which ratios are compared.
APART = {"study", "title", "contenders", "workloads", "replicates", "minutes", "interpreters"}
COMMIT = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")
VARIABLE = "variable "
NONE = "none"


class Change(NamedTuple):
    """One thing, as it was in the first study and in the second."""

    what: str
    before: str
    after: str


def changes(first: NumberedStudy, second: NumberedStudy) -> list[Change]:
    """Only what differs and was recorded in both."""
    one, other = first.machine, second.machine
    return [
        *unequal(*both(one, other)),
        *flags(one, other),
        *unequal(packages(one), packages(other)),
        *unequal(configured(one), configured(other)),
        *settings(first, second),
        *speed(one, other),
    ]


def unrecorded(first: NumberedStudy, second: NumberedStudy) -> list[str]:
    """What only one of the studies recorded, so that nobody knows whether it changed."""
    one, other = first.machine, second.machine
    found, found_too = both(one, other)
    return sorted(found.keys() ^ found_too.keys()) + sorted(
        configured(one).keys() ^ configured(other).keys()
    )


def both(one: Machine, other: Machine) -> tuple[dict[str, str], dict[str, str]]:
    """The facts of both; a variable that only one has was not set in the other."""
    found = facts(one), facts(other)
    unset = {key: "not set" for own in found for key in own if key.startswith(VARIABLE)}
    return found[0] | (unset | found[0]), found[1] | (unset | found[1])


def unequal(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for what, value in before.items():
        if what in after and after[what] != value:
            yield Change(what, value, after[what])


def facts(machine: Machine) -> dict[str, str]:
    """What was recorded about the machine, the data and the code, in words."""
    found = {"machine": machine.name, "replicates": str(machine.study.replicates)}
    for line in machine_lines(machine):
        if line.key not in PASSING and not line.key.startswith("versions."):
            found[line.key] = COMMIT.sub(r"\1", line.value)
    for one in machine.records.workloads:
        samples = one.description.get("dataset", {}).get("samples")
        found[f"samples.{one.name}"] = f"{samples:,}" if samples else ""
    return {named(key): value for key, value in found.items()}


def named(key: str) -> str:
    """A recorded key in words; the key itself if there are none for it."""
    if key in NAMES:
        return NAMES[key]
    first, _, rest = key.partition(".")
    if first == "variables":
        return VARIABLE + rest
    if first in ("dataset", "samples"):
        return f"{'data' if first == 'dataset' else 'samples'} of {workload(rest)}"
    if key.startswith("cpu.caches_kib."):
        return f"{key.rpartition('.')[2]} cache, KiB"
    return key


def flags(one: Machine, other: Machine) -> Iterator[Change]:
    """The processor's features that only one of them has."""
    sets = [
        {flag for line in machine_lines(m) if line.key == "cpu.flags"
         for flag in line.value.split(", ")}
        for m in (one, other)
    ]  # fmt: skip
    if all(sets) and sets[0] != sets[1]:
        only = (sets[0] - sets[1], sets[1] - sets[0])
        yield Change(
            "features of one processor only", *(", ".join(sorted(s)) or NONE for s in only)
        )


def packages(machine: Machine) -> dict[str, str]:
    return {name: " and ".join(found) for name, found in versions(machine).items()}


def configured(machine: Machine) -> dict[str, str]:
    """The configuration, but for names and for what becomes rows of the comparison."""
    values: Any = {k: v for k, v in machine.study.configuration.items() if k not in APART}
    return {f"configuration: {key}": spoken(value) for key, value in flattened(values)}


def settings(first: NumberedStudy, second: NumberedStudy) -> Iterator[Change]:
    """Settings that differ between the studies."""
    for (framework, name), by_value in changed_settings([first, second]).items():
        sides = [
            " and ".join(v for v, own in by_value.items() if number in [s.number for s in own])
            for number in (first.number, second.number)
        ]
        yield Change(f"{title(framework)}: {name}", *sides)


def speed(one: Machine, other: Machine) -> Iterator[Change]:
    """How long the machine's own computations took, which use no framework."""
    before, after = log_times(one), log_times(other)
    for threads in sorted(before.keys() & after.keys()):
        moved = math.exp(after[threads] - before[threads]) - 1
        yield Change(
            f"the machine's own computations, {count(threads, 'thread')}",
            "",
            f"{percent(abs(moved))} {'longer' if moved > 0 else 'shorter'}",
        )

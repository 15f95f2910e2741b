"""What the machine and the code were, as far as it is known, and whether they stayed so."""

import re
from collections.abc import Iterator, Mapping

from analysis.findings.findings import Findings
from analysis.findings.machine import virtual
from analysis.format import listing


def virtual_machine(findings: Findings) -> Iterator[str]:
    if kind := virtual(findings.machine):
        yield (
            f"The machine is a {kind}: neighbours and the host's clock are out of sight. They need "
            "not slow all contenders alike, so intervals speak of the machine as it was meanwhile."
        )


def boots(findings: Findings) -> Iterator[str]:
    """Older records do not know their boot, so nothing is said of them."""
    found: dict[str, set[int]] = {}
    for contest in findings.machine.records.contests:
        system = contest.environment.get("system")
        if boot := system.get("boot") if isinstance(system, Mapping) else None:
            found.setdefault(boot, set()).add(contest.replicate)
    if len(found) > 1:
        numbers = listing(str(len(replicates)) for replicates in found.values())
        yield (
            f"The machine was started anew between replicates ({numbers} of them): what changed "
            "with that, a virtual machine's host for instance, is in the intervals as far as "
            "these few starts show it."
        )


def pages(findings: Findings) -> Iterator[str]:
    """A core whose freed pages another core keeps has to ask the host for others:
    docs/noise.md."""
    facts = {line.key: line.value for line in findings.environment}
    kernel = re.match(r"Linux (\d+)\.(\d+)", facts.get("system.kernel", ""))
    may_grow = kernel is not None and tuple(map(int, kernel.groups())) >= (6, 7)
    several = any(seat.device == "cpu" and seat.threads > 1 for seat in findings.measured)
    kept = facts.get("memory.pages_kept_by_core") == "0"
    if kept and may_grow and several and facts.get("virtualisation.hypervisor") == "yes":
        yield (
            "Cores may keep much freed memory to themselves (vm.percpu_pagelist_high_fraction is "
            "0): in a virtual machine, contenders of several threads that give memory back can "
            "have slow turns. docs/noise.md has how that looks and what to do."
        )


def frequency(findings: Findings) -> Iterator[str]:
    unknown = [
        line.key.rpartition(".")[2]
        for line in findings.environment
        if line.key.endswith((".governor", ".turbo")) and line.value in ("unknown", "not readable")
    ]
    if unknown:
        yield (
            f"Not readable here: {listing(unknown)}. The processor's frequency may have changed "
            "while measuring; the turns spread that over all contenders."
        )


def code(findings: Findings) -> Iterator[str]:
    contests = findings.machine.records.contests
    if any(contest.code.dirty for contest in contests):
        yield "The code differed from its commit while measuring, so it cannot be looked up."
    if any(not contest.code.commit for contest in contests):
        yield "The commit of the code is not known: samestep ran outside a clone."
    if len({(contest.code.version, contest.code.commit) for contest in contests}) > 1:
        yield "Contests ran with different versions of the code."
    if len({contest.configuration for contest in contests}) > 1:
        yield "Contests ran under different configurations."


def versions(findings: Findings) -> Iterator[str]:
    changed = [line.key for line in findings.environment if line.changed == "yes"]
    names = sorted(key for key in changed if key.startswith("versions."))
    if names:
        yield f"Versions changed between contests: {listing(names)}."

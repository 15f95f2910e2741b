"""Caveats about the machine and the code, and whether they changed during the study."""

import re
from collections.abc import Iterator, Mapping

from analysis.findings.findings import Findings
from analysis.findings.machine import virtual
from analysis.format import listing, quoted
from analysis.report.layout import Caveat, note

ONE = "Measure the whole study again with one version and configuration."


def virtual_machine(findings: Findings) -> Iterator[Caveat]:
    if kind := virtual(findings.machine):
        yield note(
            f"The machine is a {quoted(kind)}. Neighbours may slow some contenders more than "
            "others, so intervals cover this hour on this host.",
            "Repeat the study on another day, and give the report both (`--earlier`).",
        )


def boots(findings: Findings) -> Iterator[Caveat]:
    """Records of older versions do not name the boot, so they give no caveat."""
    found: dict[str, set[int]] = {}
    for contest in findings.machine.records.contests:
        system = contest.system_info.get("system")
        if boot := system.get("boot") if isinstance(system, Mapping) else None:
            found.setdefault(boot, set()).add(contest.replicate)
    if len(found) > 1:
        numbers = listing(str(len(replicates)) for replicates in found.values())
        yield note(
            f"The machine was started anew between replicates ({numbers} of them).",
            "Measure on one start, or start anew often, so that intervals cover the difference.",
        )


def pages(findings: Findings) -> Iterator[Caveat]:
    """If a core keeps the memory pages that it frees, other cores request new ones from the
    host: docs/noise.md."""
    facts = {line.key: line.value for line in findings.system_info}
    kernel = re.match(r"Linux (\d+)\.(\d+)", facts.get("system.kernel", ""))
    may_grow = kernel is not None and tuple(map(int, kernel.groups())) >= (6, 7)
    several = any(benchmark.on_host and benchmark.threads > 1 for benchmark in findings.measured)
    kept = facts.get("memory.pages_kept_by_core") == "0"
    if kept and may_grow and several and facts.get("virtualisation.hypervisor") == "yes":
        yield note(
            "Steps with several threads are sometimes slow here, because a virtual machine with "
            "Linux 6.7 or later waits for memory.",
            "Set vm.percpu_pagelist_high_fraction; docs/noise.md says how.",
        )


def frequency(findings: Findings) -> Iterator[Caveat]:
    unknown = [
        line.key.rpartition(".")[2]
        for line in findings.system_info
        if line.key.endswith((".governor", ".turbo")) and line.value in ("unknown", "not readable")
    ]
    if unknown:
        yield note(
            f"The processor's {quoted(listing(unknown))} cannot be read here, so its frequency may "
            "have changed. Turns spread that over all contenders.",
            "Measure on a machine of your own to rule it out.",
        )


def code(findings: Findings) -> Iterator[Caveat]:
    contests = findings.machine.records.contests
    if any(contest.code.dirty for contest in contests):
        yield note("The code differed from its commit while measuring.", "Commit, then measure.")
    if any(not contest.code.commit for contest in contests):
        yield note("samestep ran outside a clone, so its commit is unknown.", "Run it in a clone.")
    if len({(contest.code.version, contest.code.commit) for contest in contests}) > 1:
        yield note("Contests ran with different versions of the code.", ONE)
    if len({contest.configuration for contest in contests}) > 1:
        yield note("Contests ran under different configurations.", ONE)


def versions(findings: Findings) -> Iterator[Caveat]:
    changed = [line.key for line in findings.system_info if line.changed == "yes"]
    names = sorted(key for key in changed if key.startswith("versions."))
    if names:
        yield note(f"Versions changed between contests: {quoted(listing(names))}.", ONE)

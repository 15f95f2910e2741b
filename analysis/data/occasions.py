"""When and where a study was measured, and on which start of its machine."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from analysis.data.results import Machine


class Occasion(NamedTuple):
    """One start of one machine. Studies of one occasion share the host, its neighbours and the
    layout of memory, so they are not independent of each other."""

    machine: str
    start: str  # the boot's id; the date if records are too old to name the boot


def occasion(machine: Machine) -> Occasion:
    """A study whose contests are of several starts is an occasion of its own."""
    return Occasion(
        machine.records.machine, "+".join(boots(machine)) or f"{span(machine)[0]:%Y-%m-%d}"
    )


class Processor(NamedTuple):
    """What distinguishes processors to which a cloud gives the same name."""

    model: str
    caches: tuple[tuple[str, int], ...]  # KiB by level
    flags: tuple[str, ...]

    def __str__(self) -> str:
        sizes = [f"{name} {size:,} KiB" for name, size in self.caches if name in ("L2", "L3")]
        wide = ["AVX-512"] * any(flag.startswith("avx512") for flag in self.flags)
        return ", ".join([self.model, *sizes, *wide])


def processor(machine: Machine) -> Processor:
    """The processor of the first contest."""
    first = min(machine.records.contests, key=lambda contest: contest.started)
    cpu = first.system_info.get("cpu")
    if not isinstance(cpu, Mapping):
        return Processor(str(cpu or "unknown"), (), ())
    caches = tuple(sorted(dict(cpu.get("caches_kib") or {}).items()))
    return Processor(str(cpu.get("model", "unknown")), caches, tuple(cpu.get("flags") or ()))


def boots(machine: Machine) -> list[str]:
    """The ids of the machine's starts, in the order of the contests; none in older records."""
    contests = sorted(machine.records.contests, key=lambda contest: contest.started)
    systems = [contest.system_info.get("system") for contest in contests]
    found = [system.get("boot") for system in systems if isinstance(system, Mapping)]
    return [str(boot) for boot in dict.fromkeys(found) if boot]


def span(machine: Machine) -> tuple[datetime, datetime]:
    """The start of the first contest and the end of the last, in UTC."""
    lasted: dict[str, float] = {}  # workloads measured together started together
    for contest in machine.records.contests:
        lasted[contest.started] = lasted.get(contest.started, 0.0) + contest.duration_s
    starts = {datetime.fromisoformat(at): timedelta(seconds=s) for at, s in lasted.items()}
    return min(starts), max(at + took for at, took in starts.items())


def when(machine: Machine) -> str:
    """`07:58 to 08:33 on 22 November 2026 (UTC)`"""
    first, last = span(machine)
    if first.date() == last.date():
        return f"{first:%H:%M} to {last:%H:%M} on {day(last)} (UTC)"
    return f"{first:%H:%M} on {day(first)} to {last:%H:%M} on {day(last)} (UTC)"


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"

"""Interference: what else the machine did while one contender was measured.

The coordinator reads the kernel's counters (`man 5 proc`) right before and right after each turn.
The worker sleeps at that time, so reading slows no mini-batch. It takes 0.4 ms on two cores, and
some 20 microseconds for each of the worker's threads. What cannot be read, for example outside
Linux, is None and never 0.

psutil is faster (0.03 instead of 0.07 ms for the ticks of two cores), but it lists cores by
position. If a core is offline, that is another number than the kernel's, and a turn would get
the ticks of a core that it did not run on. It also reads the frequency of every core, including
the cores that the turn did not use.

The clocks of a GPU are recorded once per contest, with the system info, because the cost of reading
them beside a turn has not been measured. What GPUs have used is read beside a turn if NVML tells.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from workflows.machine import fingerprint
from workflows.machine.energy import Reading, joules_between, reading

MOST = 200  # processes that a worker has started; more would take too long to read
TICK_S = 0.01  # of /proc/stat: USER_HZ is 100 on every architecture that frameworks run on
CPU = "sys/devices/system/cpu"
THROTTLED = ("core_throttle_count", "package_throttle_count")


class Ticks(NamedTuple):
    """One core's ticks since the start: working for any process, and stolen by the host."""

    busy: int
    stolen: int


class Schedule(NamedTuple):
    """One thread's nanoseconds: running, and waiting for a core while it could run."""

    ran: int
    waited: int


@dataclass(frozen=True)
class Counters:
    """The counters at one moment; empty or None if the system does not have them.

    The worker is pinned to `cores`; `mhz` and `throttles` are about them. `ticks` are by core,
    `threads` are the worker's by the kernel's number. `pressure_us` is the time in which anything
    on the machine waited for a core.
    """

    now_ns: int
    cores: Sequence[int]
    ticks: dict[int, Ticks] = field(default_factory=dict)
    threads: dict[int, Schedule] = field(default_factory=dict)
    mhz: float | None = None
    throttles: int | None = None
    pressure_us: int | None = None
    energy: Reading = field(default_factory=Reading)


def read_counters(pid: int, cores: Sequence[int]) -> Counters:
    """Read the counters of the worker `pid` and the `cores` that it is pinned to."""
    mhz = frequency(cores)  # first, because the kernel forgets an idle core's frequency soon
    return Counters(
        time.perf_counter_ns(),
        cores,
        ticks=ticks(lines("proc/stat")),
        threads=threads(pid),
        mhz=mhz,
        throttles=throttles(cores),
        pressure_us=pressure(lines("proc/pressure/cpu")),
        energy=reading(),
    )


def between(before: Counters, after: Counters) -> dict[str, Any]:
    """The fields of a `TurnRecord` that follow from two readings, in seconds, MHz and joules."""
    wall = after.now_ns - before.now_ns
    figures: dict[str, Any] = {
        "duration_s": wall / 1e9,
        "mhz": after.mhz,
        "throttles": passed(before.throttles, after.throttles),
        "cpu_s": None,
        "waited_s": None,
        "steal_s": None,
        "other_s": None,
        "elsewhere_s": None,
        **joules_between(before.energy, after.energy),
    }
    pressure_us = passed(before.pressure_us, after.pressure_us)
    figures["pressure_s"] = None if pressure_us is None else pressure_us / 1e6
    if before.threads and after.threads:  # a thread that ended takes its share with it
        new = Schedule(0, 0)
        known = [(before.threads.get(i, new), later) for i, later in after.threads.items()]
        # A number whose time went back is another thread's.
        known = [(once if once.ran <= later.ran else new, later) for once, later in known]
        figures["cpu_s"] = sum(later.ran - once.ran for once, later in known) / 1e9
        figures["waited_s"] = sum(later.waited - once.waited for once, later in known) / 1e9
    own, rest = set(after.cores), set(after.ticks) - set(after.cores)
    if own and own <= set(before.ticks) & set(after.ticks):
        figures["steal_s"] = TICK_S * grown(before, after, own, "stolen")
        if figures["cpu_s"] is not None:
            busy = TICK_S * grown(before, after, own, "busy")
            figures["other_s"] = busy - figures["cpu_s"]
        if rest <= set(before.ticks):
            figures["elsewhere_s"] = TICK_S * grown(before, after, rest, "busy")
    return {name: value if value is None else round(value, 6) for name, value in figures.items()}


def passed(before: int | None, after: int | None) -> int | None:
    """None, too, if the counter fell, because a core has gone or counts anew."""
    return None if before is None or after is None or after < before else after - before


def grown(before: Counters, after: Counters, cores: Iterable[int], what: str) -> int:
    return sum(getattr(after.ticks[c], what) - getattr(before.ticks[c], what) for c in cores)


def lines(name: str) -> list[str]:
    """The lines of a small file of the system, none if it cannot be read."""
    with suppress(OSError, UnicodeDecodeError), (fingerprint.SYSTEM / name).open() as file:
        return file.readlines()
    return []


def ticks(stat: Iterable[str]) -> dict[int, Ticks]:
    """Ticks by core, from the `cpu<core> user nice system idle iowait irq softirq steal` lines."""
    found = {}
    for line in stat:
        name, *values = line.split() or [""]
        if not name.startswith("cpu"):
            break  # the long line of interrupts is next
        with suppress(ValueError):
            user, nice, system, _, _, irq, softirq, steal = map(int, values[:8])
            found[int(name[3:])] = Ticks(user + nice + system + irq + softirq, steal)
    return found


def threads(pid: int) -> dict[int, Schedule]:
    """Each thread's `schedstat`, because `/proc/<pid>/schedstat` is about the first thread only,
    and those of what that thread has started, like the processes of a loader."""
    found: dict[int, Schedule] = {}
    processes = [pid]
    for process in processes:
        children = "".join(lines(f"proc/{process}/task/{process}/children")).split()
        processes += map(int, children[: MOST - len(processes)])
        with suppress(OSError):
            for task in (fingerprint.SYSTEM / f"proc/{process}/task").iterdir():
                with suppress(ValueError):  # a thread that just ended has no line
                    ran, waited, _ = map(int, "".join(lines(f"{task}/schedstat")).split())
                    found[int(task.name)] = Schedule(ran, waited)
    return found


def frequency(cores: Iterable[int]) -> float | None:
    """Mean MHz of the cores now, from cpufreq, else from /proc/cpuinfo (x86 only)."""
    folder = fingerprint.SYSTEM / CPU
    with suppress(OSError, ValueError):
        khz = [int((folder / f"cpu{c}/cpufreq/scaling_cur_freq").read_text()) for c in cores]
        return fmean(khz) / 1000 if khz else None
    mhz, core = {}, -1
    for line in lines("proc/cpuinfo"):
        key, _, value = line.partition(":")
        with suppress(ValueError):
            if key.startswith("processor"):
                core = int(value)
            elif key.startswith("cpu MHz"):
                mhz[core] = float(value)
    here = [mhz[core] for core in cores if core in mhz]
    return fmean(here) if here else None


def throttles(cores: Iterable[int]) -> int | None:
    """How often heat has slowed these cores or their packages so far."""
    folders = [fingerprint.SYSTEM / CPU / f"cpu{core}/thermal_throttle" for core in cores]
    counts = [count(folder / name) for folder in folders for name in THROTTLED]
    known = [number for number in counts if number is not None]
    return sum(known) if known else None


def count(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def pressure(psi: Iterable[str]) -> int | None:
    """Microseconds of the `some avg10=... total=<us>` line."""
    for line in psi:
        kind, _, total = line.strip().rpartition("total=")
        if kind.startswith("some"):
            with suppress(ValueError):
                return int(total)
    return None

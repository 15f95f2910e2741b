"""Whether what a worker says of a turn is possible, by the coordinator's clock and counts.

An adapter shares its process with the clocks that time it, and may replace them, as libraries for
tests do. Readers refuse a whole record with impossible times, so here only this contender fails.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import psutil  # type: ignore[import-untyped]

from workflows.records.columns import PHASES
from workflows.records.limits import EVENTS, SLACK_NS, TICK_NS
from workflows.records.schema import UNCOMPARED, TurnRecord
from workflows.worker.process import WorkerDied

MIB = 2**20
CLOCK = "; does its adapter replace a clock of Python?"


class Asked(NamedTuple):
    """What a turn was asked for: its mini-batches, the number of its first step, whether it is
    slowed; and for how long its contest has lasted."""

    batches: list[int]
    first_step: int
    slowed: bool
    lasted_s: float


def within(seconds: float, since: float) -> float:
    """The seconds that a worker says a request took, which was sent at `since` (`time.monotonic`).

    Raises:
        WorkerDied: less time has passed.
    """
    if seconds > time.monotonic() - since + SLACK_NS / 1e9:
        raise WorkerDied(f"it says that it took {seconds:.3g} s, which have not passed{CLOCK}")
    return seconds


def unbelievable(rows: Mapping[str, list[Any]], turn: TurnRecord, asked: Asked) -> str:
    """What is impossible, "" if nothing is. A slowed control's steps are lengthened afterwards."""
    count = len(asked.batches)
    steps = [*range(asked.first_step, asked.first_step + count)]
    if rows["batch"] != asked.batches or rows["step"] != steps:
        return "its turn has other mini-batches than it was asked for"
    start, cpu_ns = (np.array(rows[name], np.float64) for name in ("start_ns", "cpu_ns"))
    took = np.sum([rows[name] for name in PHASES], axis=0, dtype=np.float64)
    end_ns, cores = turn.start_ns + turn.duration_s * 1e9, psutil.cpu_count() or 1
    inside = (turn.start_ns - SLACK_NS <= start) & (start <= end_ns + SLACK_NS)
    if not inside.all() or start[0] + took.sum() > end_ns + SLACK_NS:
        return "its mini-batches are not within their turn, by the coordinator's clock" + CLOCK
    if not asked.slowed and (start[1:] < (start + took)[:-1] - SLACK_NS).any():
        return "a mini-batch began before the one before had ended" + CLOCK
    compared = turn.contender.partition("/")[0] not in UNCOMPARED
    if compared and not (took - np.array(rows["data_ns"]) >= 1).all():
        return "a mini-batch took no time" + CLOCK
    spent = cpu_ns.sum() <= turn.most_cpu_ns
    spent &= (turn.outside_s or 0.0) <= cores * asked.lasted_s
    if not spent or (cpu_ns > cores * (3 * took + TICK_NS)).any():
        return "its processor time is more than the kernel counted" + CLOCK
    faults = max(turn.minor_faults or 0.0, turn.major_faults or 0.0)
    if faults > EVENTS * cores * turn.duration_s:
        return f"it says that a mini-batch had {faults:.3g} page faults"
    return too_much(turn.peak_mib)


def too_much(mib: float | None) -> str:
    """What is impossible about the memory that a worker says it has, "" if nothing is."""
    here = psutil.virtual_memory().total / MIB
    return f"it says that it has {mib:.3g} MiB of memory" if mib and mib > here else ""

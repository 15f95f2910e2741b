"""What a GPU or more threads do for one and the same contender."""

import math
from dataclasses import dataclass

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.processes import paired
from analysis.data.results import BenchmarkId, Machine
from analysis.stats.inference import student
from frameworks.device import DEVICES, HOST


@dataclass(frozen=True)
class SpeedUp:
    """A row of devices.csv: `speedup` is the baseline's time over this contender's.

    Another device has the processor with as many threads as its baseline, more threads
    have the fewest of the study.
    """

    machine: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    baseline_device: str
    baseline_threads: int
    replicates: int
    speedup: float | None
    low: float | None
    high: float | None
    dataset: str
    reason: str


def speed_ups(
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    unsteady: dict[BenchmarkId, str],
) -> list[SpeedUp]:
    rows = []
    for seat in roster:
        base = baseline(seat, roster)
        if base != seat and not machine.apart(seat):
            rows.append(speed_up(machine, seat, base, roster, measured, unsteady))
    return rows


def baseline(seat: BenchmarkId, roster: dict[BenchmarkId, Availability]) -> BenchmarkId:
    if not DEVICES[seat.device].is_host:
        return seat._replace(device=HOST.name)
    fewest = min(other.threads for other in roster if other._replace(threads=seat.threads) == seat)
    return seat._replace(threads=fewest)


def speed_up(
    machine: Machine,
    seat: BenchmarkId,
    base: BenchmarkId,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    unsteady: dict[BenchmarkId, str],
) -> SpeedUp:
    n, speedup, low, high, reason = 0, None, None, None, ""
    if restless := [unsteady[side] for side in (seat, base) if side in unsteady]:
        reason = "; ".join(restless)
    elif seat in measured and base in measured:
        gains = paired(measured[base], measured[seat]).tolist()
        n = len(gains)
        reason = "" if n else "there is no replicate in which both were measured"
    else:
        absent = [side for side in (seat, base) if side not in measured]
        reason = "; ".join(
            dict.fromkeys(
                roster[side].reason if side in roster else f"{side.contender} is not in the study"
                for side in absent
            )
        )
    if n:
        estimate = student(gains, machine.study.confidence)
        speedup = math.exp(estimate.mean)
        if estimate.low is not None and estimate.high is not None:
            low, high = math.exp(estimate.low), math.exp(estimate.high)
        else:
            reason = "one replicate has no interval: two at least are needed"
    return SpeedUp(
        machine=machine.name,
        **seat._asdict(),
        baseline_device=base.device,
        baseline_threads=base.threads,
        replicates=n,
        speedup=speedup,
        low=low,
        high=high,
        dataset=machine.dataset(seat.workload),
        reason=reason,
    )

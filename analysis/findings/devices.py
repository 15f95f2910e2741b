"""How much faster a GPU or more threads make the same contender."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.data.processes import Measurements
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import ratios
from analysis.stats.inference import student
from frameworks.device import DEVICES, HOST


@dataclass(frozen=True)
class SpeedUp:
    """A row of devices.csv: `speedup` is the baseline's time over this benchmark's.

    The baseline of another device is the processor with the same number of threads. The baseline
    of more threads is the smallest number of threads in the study.
    """

    id: BenchmarkId
    baseline_device: str
    baseline_threads: int
    replicates: int
    speedup: float | None
    low: float | None
    high: float | None
    reason: str


def speed_ups(found: Measurements) -> list[SpeedUp]:
    return [
        speed_up(benchmark, base, found)
        for benchmark in found.availability
        if (base := baseline(benchmark, found.availability)) != benchmark
        and found.machine.compares(benchmark)
    ]


def baseline(benchmark: BenchmarkId, others: Iterable[BenchmarkId]) -> BenchmarkId:
    if not DEVICES[benchmark.device].is_host:
        return benchmark._replace(device=HOST.name)
    same = [one for one in others if one._replace(threads=benchmark.threads) == benchmark]
    return benchmark._replace(threads=min(one.threads for one in same))


def speed_up(benchmark: BenchmarkId, base: BenchmarkId, found: Measurements) -> SpeedUp:
    logs, _, reason = ratios(benchmark, base, found)
    speedup = low = high = None
    if logs:
        gain = student([-log for log in logs], found.machine.study.confidence)
        speedup = math.exp(gain.mean)
        if gain.low is not None and gain.high is not None:
            low, high = math.exp(gain.low), math.exp(gain.high)
    return SpeedUp(
        benchmark, base.device, base.threads, len(logs), speedup, low, high, reason
    )  # fmt: skip

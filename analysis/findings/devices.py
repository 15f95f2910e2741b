"""How much faster a GPU or more threads make the same contender."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.data.processes import Measurements
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import ratios
from analysis.stats.inference import Verdict, estimates
from frameworks.device import DEVICES, HOST


@dataclass(frozen=True)
class SpeedUp:
    """A row of devices.csv: `speedup` is the baseline's time over this benchmark's. `verdict` says
    whether this benchmark is faster than its baseline, by the rule of comparisons.csv.

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
    verdict: Verdict
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
    logs, verdict, reason = ratios(benchmark, base, found)
    study = found.machine.study
    (times,) = estimates([logs], study.margin, study.confidence)
    speedup, high, low = (end and 1 / end for end in times.ends)
    return SpeedUp(
        benchmark, base.device, base.threads, len(logs), speedup, low, high,
        times.verdict if logs else verdict, reason,
    )  # fmt: skip

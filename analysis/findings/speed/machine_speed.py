"""The machine's own speed: a matrix product and a memory stream that took turns with the
contenders, on the same cores.

They use NumPy and no framework, so their times change only if the machine does. They show how fast
the machine was in studies of different days.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Any, cast

import numpy as np

from analysis.data.results import Machine, grouped
from analysis.findings.findings import Table, added
from analysis.format import alike, count, listing
from workflows.records.schema import MACHINE, Setting

NAMES = {"product": "matrix product", "stream": "memory stream"}
KEYS = ["workload", "threads", "variant"]
Key = tuple[Any, ...]  # `KEYS`, and a replicate (None: all of them)


@dataclass(frozen=True)
class SpeedLine:
    """A row of machine_speed.csv: one computation beside one workload, in one replicate or in all
    of them (`replicate` None).

    `median_ms` is the median pass; of all replicates, the geometric mean of their medians. The
    speed follows from it and from the work that the computation counted: GFLOP/s of a product,
    GB/s of a stream, None for the other. `spread` is the range from the 10th to the 90th
    percentile of the rounds' medians, over their median. Rows of all replicates name the slowest
    and the fastest.
    """

    workload: str
    threads: int
    variant: str
    replicate: int | None
    passes: int
    median_ms: float
    gflop_per_s: float | None
    gb_per_s: float | None
    spread: float
    slowest_replicate: int | None = None
    slowest_ms: float | None = None
    fastest_replicate: int | None = None
    fastest_ms: float | None = None

    @property
    def speed(self) -> float | None:
        return self.gflop_per_s or self.gb_per_s


def speed_lines(machine: Machine) -> list[SpeedLine]:
    """For each workload, number of threads and computation: every replicate, then all of them."""
    batches = machine.uncompared.of(MACHINE)
    if batches.empty:
        return []
    settings = {
        (contest.workload, one.threads, one.variant, contest.replicate): one.settings
        for contest in machine.uncompared.contests
        for one in contest.contenders
    }
    steady = batches[~batches["warmup"]]
    by_process = [*KEYS, "replicate"]
    medians = steady.groupby([*by_process, "round"])["ms"].median()
    rounds = grouped((cast("Key", key)[:-1], float(ms)) for key, ms in medians.items())
    processes = steady.groupby(by_process).agg(ms=("ms", "median"), passes=("weight", "sum"))
    measured = {
        cast("Key", key): (float(ms), int(passes)) for key, ms, passes in processes.itertuples()
    }
    groups = grouped((key[:-1], key) for key in rounds)
    lines = []
    for group in sorted(groups, key=lambda group: (machine.workloads.index(group[0]), group)):
        work = {key: settings.get(key, {}) for key in groups[group]}
        each = [speed_line(key, rounds[key], *measured[key], work[key]) for key in groups[group]]
        middle = geometric_mean([line.median_ms for line in each])
        counted = next(filter(None, work.values()), {})
        slowest = max(each, key=lambda line: line.median_ms)
        fastest = min(each, key=lambda line: line.median_ms)
        every = [ms for key in groups[group] for ms in rounds[key]]
        passes = sum(line.passes for line in each)
        together = replace(
            speed_line((*group, None), every, middle, passes, counted),
            slowest_replicate=slowest.replicate,
            slowest_ms=slowest.median_ms,
            fastest_replicate=fastest.replicate,
            fastest_ms=fastest.median_ms,
        )
        lines += [*each, together]
    return lines


def speed_line(
    process: Key,
    rounds: Sequence[float],
    median_ms: float,
    passes: int,
    settings: Mapping[str, Setting],
) -> SpeedLine:
    """`rounds`: the median of each round. `settings` has the work of a pass; it is empty if the
    process failed."""
    workload, threads, variant, replicate = process
    low, middle, high = np.quantile(rounds, [0.1, 0.5, 0.9])
    work = [settings.get(name) for name in ("flop_per_pass", "bytes_per_pass")]
    gflop_per_s, gb_per_s = (float(done) / median_ms / 1e6 if done else None for done in work)
    return SpeedLine(
        workload=workload,
        threads=int(threads),
        variant=variant,
        replicate=replicate,
        passes=passes,
        median_ms=median_ms,
        gflop_per_s=gflop_per_s,
        gb_per_s=gb_per_s,
        spread=float((high - low) / middle),
    )


def log_times(machine: Machine) -> dict[int, float]:
    """How slow the machine was in this study, by number of threads: the mean over product and
    stream of the natural logarithm of a pass's milliseconds, each the mean over all workloads and
    replicates.

    A difference of 0.1 between two studies means that the machine's own computations took about
    10 % longer in one of them. Empty for records without the machine's own turns. A number of
    threads is left out if one of the computations did not run on it.
    """
    found: dict[int, dict[str, list[float]]] = {}
    for line in speed_lines(machine):
        if line.replicate is not None:
            own = found.setdefault(line.threads, {})
            own.setdefault(line.variant, []).append(float(np.log(line.median_ms)))
    return {
        threads: float(np.mean([np.mean(logs) for logs in own.values()]))
        for threads, own in sorted(found.items())
        if own.keys() == NAMES.keys()
    }


def speed_summary(lines: Sequence[SpeedLine]) -> str:
    """`Two computations in NumPy ... The matrix product ran at 35.1 GFLOP/s on 1 thread. Its
    fastest contest ...`; "" if the machine took no turns."""
    found = list(sentences(lines))
    before = "Two computations in NumPy took turns with the contenders, on the same cores."
    return " ".join([before, *found]) if found else ""


def sentences(lines: Sequence[SpeedLine]) -> Iterator[str]:
    for variant, name in NAMES.items():
        found = grouped(
            (line.threads, line.speed)
            for line in lines
            if line.variant == variant and line.replicate is not None and line.speed
        )
        unit = "GFLOP/s" if variant == "product" else "GB/s"
        speeds = [
            f"{alike(geometric_mean(own))[0]} {unit} on {count(threads, 'thread')}"
            for threads, own in sorted(found.items())
        ]
        if speeds:
            most = alike(max(max(own) / min(own) for own in found.values()))[0]
            yield (
                f"The {name} ran at {listing(speeds)}. Its fastest contest was up to {most} times "
                "as fast as its slowest."
            )


SPEED = added(
    "machine_speed", Table(SpeedLine, lambda findings: speed_lines(findings.machine), optional=True)
)

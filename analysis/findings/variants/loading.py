"""What preparing mini-batches during training costs: each loader over stored mini-batches, in the
same process."""

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, ClassVar

import pandas as pd

from analysis.data.processes import COLUMNS, Measurements, by_benchmark, logs, processes
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import ratios
from analysis.findings.fairness.loss_check import LossCheck
from analysis.format import count
from analysis.stats.inference import Estimate, estimate, student
from analysis.stats.intervals import UNKNOWN, Interval
from frameworks.workloads.datasets.pixels import OWN, STORED

NAMES = MappingProxyType({"pytorch": "DataLoader", "tensorflow": "tf.data"})  # of own loaders


@dataclass(frozen=True)
class LoadingLine:
    """A row of loading.csv: a contender with a loader. `base` is the same contender, in the same
    process, on mini-batches that were prepared before.

    `wall` is the time of a mini-batch: `waiting` until the loader gave it, and `step` of transfer
    and step. Each is the geometric mean over replicates, with Student's interval, of a process's
    median over turns, in milliseconds. A turn counts with the mean of its mini-batches, because
    with two workers every second one may wait. `ratio` is the wall time over that of `base`,
    `base_ms`, estimated within rounds like all ratios.
    """

    COLUMNS: ClassVar = (
        "machine workload framework variant of device threads kind loaders replicates wall_ms "
        "wall_low wall_high waiting_ms waiting_low waiting_high step_ms step_low step_high base_ms "
        "ratio ratio_low ratio_high dataset reason"
    )

    id: BenchmarkId
    base: BenchmarkId
    of: str
    loader: str
    estimate: Estimate = field(default_factory=Estimate)
    wall: Annotated[Interval, "wall_ms wall_low wall_high"] = UNKNOWN
    waiting: Annotated[Interval, "waiting_ms waiting_low waiting_high"] = UNKNOWN
    step: Annotated[Interval, "step_ms step_low step_high"] = UNKNOWN
    base_ms: float | None = None
    reason: str = ""

    @property
    def original(self) -> BenchmarkId:
        return self.id._replace(variant=self.of)

    @property
    def kind(self) -> str:
        return self.loader.partition("-")[0]

    @property
    def loaders(self) -> int:
        """How many threads, processes or workers prepare mini-batches ahead."""
        return int(self.loader.partition("-")[2] or 0)

    @property
    def by(self) -> str:
        """Who prepares mini-batches: `inline`, `threads`, `processes`, `DataLoader`"""
        return NAMES.get(self.id.framework, "own loader") if self.kind == OWN else self.kind

    @property
    def words(self) -> str:
        """`inline`, `1 thread`, `2 processes`, `DataLoader, 2 workers`"""
        one = {"threads": "thread", "processes": "process"}.get(self.kind)
        if one:
            return count(self.loaders, one, self.kind)
        return f"{self.by}, {count(self.loaders, 'worker')}" if self.loaders else self.by


def loading_lines(
    found: Measurements, check: LossCheck, batches: pd.DataFrame
) -> list[LoadingLine]:
    controls = {one: found.machine.control(one) for one in found.availability}
    loaders = {
        one: control
        for one, control in controls.items()
        if control and control.loader not in ("", STORED)
    }
    if not loaders:
        return []
    wall = batches.assign(ms=batches["data_ms"] + batches["ms"])
    walls = replace(found, processes=by_benchmark(processes(wall)))
    times, study = by_turn(batches), found.machine.study
    lines = []
    for one, control in loaders.items():
        original = one._replace(variant=control.of)
        base = one._replace(variant=f"{control.of}+{STORED}")
        fault = next((check.faults[n] for n in (original, base, one) if n in check.faults), "")
        found_logs, _, reason = ratios(one, base, walls, fault)
        line = LoadingLine(one, base, control.of, control.loader, reason=reason)
        if found_logs:
            line = replace(
                line,
                estimate=estimate(found_logs, study.margin, study.confidence),
                base_ms=over_replicates(times[base], "wall", study.confidence).value,
                wall=over_replicates(times[one], "wall", study.confidence),
                waiting=over_replicates(times[one], "waiting", study.confidence),
                step=over_replicates(times[one], "step", study.confidence),
            )
        lines.append(line)
    return lines


def over_replicates(rows: pd.DataFrame, name: str, confidence: float) -> Interval:
    """The geometric mean of a time over replicates."""
    return student(logs(rows, name).tolist(), confidence).interval.through(math.exp)


def by_turn(batches: pd.DataFrame) -> dict[BenchmarkId, pd.DataFrame]:
    """For each benchmark, by replicate: the medians over turns of the mean `wall`, `waiting` and
    `step` of a turn's steady mini-batches, in milliseconds."""
    rows = batches[~batches["warmup"]]
    weight = rows["weight"]
    parts = pd.DataFrame(
        {"waiting": rows["data_ms"] * weight, "step": rows["ms"] * weight, "weight": weight}
    )
    turns = parts.groupby([rows[name] for name in [*COLUMNS, "replicate", "round"]]).sum()
    means = turns[["waiting", "step"]].div(turns["weight"], axis=0)
    means["wall"] = means["waiting"] + means["step"]
    return by_benchmark(means.groupby(level=[*COLUMNS, "replicate"]).median().reset_index())

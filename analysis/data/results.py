"""One machine's records, and the identity of each benchmark in them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from analysis.format import KNOWN, crossed, title
from frameworks.device import HOST
from workflows.records.columns import PHASES as NANOSECONDS
from workflows.records.machine_records import (
    ChangeRow,
    MachineRecords,
    PitfallRow,
    StudyRecord,
    WorkloadRecord,
)
from workflows.records.schema import Contender, ContestRecord

Row = TypeVar("Row", bound=Any)
Key = TypeVar("Key")
Value = TypeVar("Value")

PHASES = [name.removesuffix("_ns") for name in NANOSECONDS]  # of a mini-batch, in order
DEFAULT, TUNED = "default", "tuned"
USUAL = (DEFAULT, TUNED)  # all other variants are opt-in


class Column(NamedTuple):
    """The conditions under which contenders are comparable."""

    workload: str
    device: str
    threads: int

    @property
    def on(self) -> str:
        """`CPU, 2 threads`"""
        return crossed([(self.device, self.threads)])

    @property
    def on_host(self) -> bool:
        return self.device == HOST.name


class BenchmarkId(NamedTuple):
    """One contender in one workload: the identity that rows of most tables carry as `id`."""

    workload: str
    framework: str
    variant: str
    device: str
    threads: int

    @property
    def contender(self) -> str:
        return "/".join(str(part) for part in self[1:])

    @property
    def who(self) -> str:
        """`PyTorch default`"""
        return f"{title(self.framework)} {self.variant}"

    @property
    def column(self) -> Column:
        return Column(self.workload, self.device, self.threads)

    @property
    def any_framework(self) -> "BenchmarkId":
        """What it shares with the benchmarks of other frameworks that it is compared with."""
        return self._replace(framework="")

    @property
    def on(self) -> str:
        """`CPU, 2 threads`"""
        return self.column.on

    @property
    def on_host(self) -> bool:
        return self.column.on_host

    @classmethod
    def of(cls, workload: str, one: Contender) -> "BenchmarkId":
        return cls(workload, one.framework, one.variant, one.device, one.threads)


class Control(NamedTuple):
    """A variant that repeats the variant `of`, slowed by a share of its time: 0 for a twin. `idle`
    (earlier records only) is the share of its time that it also waited outside the timed region.
    `loader` names the loader that prepares its mini-batches, "" for none.
    """

    of: str
    slowed_by: float
    idle: float = 0.0
    loader: str = ""

    @property
    def paused(self) -> bool:
        """Whether it only waited outside the timed region, so that its true ratio is unknown."""
        return bool(self.idle and not self.slowed_by)


@dataclass(frozen=True)
class Uncompared:
    """The turns of frameworks that are never compared (`UNCOMPARED`): `batches` as in `Machine`,
    and the contests with these contenders alone."""

    batches: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({"framework": []}))
    contests: list[ContestRecord] = field(default_factory=list)

    def of(self, framework: str) -> pd.DataFrame:
        return self.batches[self.batches["framework"] == framework]


@dataclass(frozen=True)
class Machine:
    """One machine's records; frameworks that are never compared are in `uncompared`. `batches` has
    the columns of `BATCHES`, the parts of each mini-batch in milliseconds (`data_ms`,
    `transfer_ms`, `step_ms`), and `ms`, the time that is compared: transfer and step, or the step
    alone of a single operation. `weight` is the number of mini-batches that a row stands for: 1,
    unless the study is so large that its turns were condensed (condensing.py)."""

    records: MachineRecords
    batches: pd.DataFrame
    uncompared: Uncompared = field(default_factory=Uncompared)
    others: "tuple[Machine, ...]" = ()  # other studies of this machine, given beside this one
    start: str = ""  # of the machine, in a report that has several starts of it

    @property
    def name(self) -> str:
        """The machine's name, with its start if the report has several starts of it."""
        return "_".join(filter(None, (self.records.machine, self.start)))

    @property
    def study(self) -> StudyRecord:
        return self.records.study

    @property
    def titles(self) -> dict[str, str]:
        """The display name of each framework."""
        return {**KNOWN, **self.study.titles}

    def title(self, framework: str) -> str:
        return self.titles.get(framework, framework)

    @cached_property
    def pitfalls(self) -> dict[tuple[str, str], PitfallRow]:
        """By framework and variant."""
        return {(row.framework, row.variant): row for row in self.records.pitfalls}

    def pitfall(self, benchmark: BenchmarkId) -> PitfallRow | None:
        """The pitfall that the benchmark's variant falls into; None if there is none."""
        return self.pitfalls.get((benchmark.framework, benchmark.variant))

    @cached_property
    def parts(self) -> dict[tuple[str, str], ChangeRow]:
        """By framework and variant."""
        return {(row.framework, row.variant): row for row in self.records.parts}

    def part(self, benchmark: BenchmarkId) -> ChangeRow | None:
        """The part of a step that the benchmark's variant is; None if it is a whole step."""
        return self.parts.get((benchmark.framework, benchmark.variant))

    @cached_property
    def reduced(self) -> dict[tuple[str, str], ChangeRow]:
        """By framework and variant."""
        return {(row.framework, row.variant): row for row in self.records.reduced}

    def format(self, benchmark: BenchmarkId) -> ChangeRow | None:
        """The reduced format that the benchmark's variant computes in; None if it is float32."""
        return self.reduced.get((benchmark.framework, benchmark.variant))

    @cached_property
    def controls(self) -> dict[tuple[str, str], Control]:
        """By framework and variant."""
        return {
            (one.framework, one.variant): Control(one.runs, one.slowed_by, one.idle, one.loader)
            for contest in self.records.contests
            for one in contest.contenders
            if one.runs
        }

    def control(self, benchmark: BenchmarkId) -> Control | None:
        """How the benchmark's variant is a control; None if it is no control."""
        return self.controls.get((benchmark.framework, benchmark.variant))

    @cached_property
    def loaders(self) -> list[str]:
        """In the order of the configuration; "" first."""
        return list(dict.fromkeys(["", *(one.loader for one in self.controls.values())]))

    @property
    def waits_between_steps(self) -> bool:
        """Whether slowed controls waited between steps, as in records without groups."""
        return not any(contest.group for contest in self.records.contests)

    @property
    def alone(self) -> bool:
        """Whether this is an A/A study, which compares only controls."""
        return bool((self.study.configuration.get("controls") or {}).get("alone"))

    @cached_property
    def aside(self) -> set[tuple[str, str]]:
        """Framework and variant of what is not compared with other frameworks."""
        return {*self.pitfalls, *self.parts, *self.reduced, *self.controls}

    def compares(self, benchmark: BenchmarkId) -> bool:
        """Whether a benchmark is compared with other frameworks: unless its variant has a pitfall,
        is a part of a step, computes in a reduced format, or is a control."""
        return (benchmark.framework, benchmark.variant) not in self.aside

    def matched_rows(self, rows: Iterable[Row]) -> list[Row]:
        """The rows of a table whose benchmarks are compared across frameworks."""
        return [row for row in rows if self.compares(row.id)]

    def matched(self, batches: pd.DataFrame) -> pd.DataFrame:
        """The mini-batches of contenders that are compared across frameworks."""
        return batches[~keyed(batches).isin(list(self.aside))]

    def without_pitfalls(self, batches: pd.DataFrame) -> pd.DataFrame:
        """The mini-batches of variants without a pitfall, whose losses must be right."""
        return batches[~keyed(batches).isin(list(self.pitfalls))]

    @property
    def workloads(self) -> list[str]:
        return [workload.name for workload in self.records.workloads]

    def workload(self, name: str) -> WorkloadRecord:
        (found,) = (one for one in self.records.workloads if one.name == name)
        return found

    @property
    def untrained(self) -> bool:
        """Whether it has single operations alone, and no network."""
        return bool(self.workloads) and not self.records.trained

    def contests(self, workload: str) -> dict[int, ContestRecord]:
        """By replicate."""
        found = [c for c in self.records.contests if c.workload == workload]
        return {c.replicate: c for c in sorted(found, key=lambda c: c.replicate)}

    def dataset(self, workload: str) -> str:
        """The kind of the workload's data set, for the `dataset` column of tables."""
        for record in self.records.datasets:
            if record.workload == workload:
                return record.kind
        return "not recorded"

    def order(self, benchmark: BenchmarkId) -> tuple[object, ...]:
        """Sort key: workloads as configured, cpu first, threads, default and tuned first, the
        reference first, a control after its contender."""
        control = self.control(benchmark)
        return (
            self.workloads.index(benchmark.workload),
            *order(benchmark.device, HOST.name),
            benchmark.threads,
            *order(control.of if control else benchmark.variant, *USUAL),
            *order(benchmark.framework, self.study.reference),
            -1.0 if control is None else control.slowed_by,
            bool(control and control.paused),
            self.loaders.index(control.loader if control else ""),
        )


def keyed(batches: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(batches[["framework", "variant"]])


def order(value: str, *first: str) -> tuple[int, str]:
    """Sort key: these first, in their order."""
    return (first.index(value) if value in first else len(first), value)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in their order."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found

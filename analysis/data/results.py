"""What everything else is about: a machine's records, and the seats in them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from frameworks.device import HOST
from workflows.records.schema import (
    Contender,
    ContestRecord,
    MachineRecords,
    PitfallRow,
    StudyRecord,
)

Row = TypeVar("Row", bound=Any)

PARTS = ["data", "transfer", "step"]  # of a mini-batch, in order


class BenchmarkId(NamedTuple):
    """A contender's place in a workload; what rows of all tables are about."""

    workload: str
    framework: str
    variant: str
    device: str
    threads: int

    @property
    def contender(self) -> str:
        return "/".join(str(part) for part in self[1:])

    @classmethod
    def of(cls, workload: str, one: Contender) -> "BenchmarkId":
        return cls(workload, one.framework, one.variant, one.device, one.threads)


class Control(NamedTuple):
    """A variant that is another once more, slowed by a share of its time: 0 for a twin. `pause`
    is the share of its time for which it spins off the clock."""

    of: str
    spin: float
    pause: float = 0.0


@dataclass(frozen=True)
class Machine:
    """One machine's records. `batches` holds the columns of `BATCHES`, the parts of each
    mini-batch in milliseconds (`data_ms`, `transfer_ms`, `step_ms`), and `ms`, the time
    compared: transfer and step. Reading the memory map (`data`) is the harness's work."""

    records: MachineRecords
    batches: pd.DataFrame
    idle: pd.DataFrame = field(default_factory=pd.DataFrame)  # the same of what computes nothing

    @property
    def name(self) -> str:
        return self.records.machine

    @property
    def study(self) -> StudyRecord:
        return self.records.study

    @property
    def titles(self) -> dict[str, str]:
        """What people call each framework."""
        return self.study.titles

    @cached_property
    def traps(self) -> dict[tuple[str, str], PitfallRow]:
        """By framework and variant."""
        return {(row.framework, row.variant): row for row in self.records.traps}

    def trap(self, seat: BenchmarkId) -> PitfallRow | None:
        """What the seat's variant falls into; None for all without one."""
        return self.traps.get((seat.framework, seat.variant))

    @cached_property
    def controls(self) -> dict[tuple[str, str], Control]:
        """By framework and variant."""
        return {
            (one.framework, one.variant): Control(one.runs, one.spin, one.pause)
            for contest in self.records.contests
            for one in contest.contenders
            if one.runs
        }

    def control(self, seat: BenchmarkId) -> Control | None:
        """What the seat's variant is a control of; None for all that are none."""
        return self.controls.get((seat.framework, seat.variant))

    @property
    def alone(self) -> bool:
        """An A/A study: nothing but controls is compared."""
        return bool((self.study.configuration.get("controls") or {}).get("alone"))

    def apart(self, row: Any) -> bool:
        """Whether a seat or a row of a table is compared with no other framework: of a variant
        with a trap, or a control."""
        key = (row.framework, row.variant)
        return key in self.traps or key in self.controls

    def matched_rows(self, rows: Iterable[Row]) -> list[Row]:
        """Those of a table that are compared across frameworks."""
        return [row for row in rows if not self.apart(row)]

    def matched(self, batches: pd.DataFrame) -> pd.DataFrame:
        """Those of contenders that are compared across frameworks."""
        return batches[~keyed(batches).isin([*self.traps, *self.controls])]

    def untrapped(self, batches: pd.DataFrame) -> pd.DataFrame:
        """Without those of variants with a trap: all that should have the same losses."""
        return batches[~keyed(batches).isin(list(self.traps))]

    @property
    def workloads(self) -> list[str]:
        return [workload.name for workload in self.records.workloads]

    def contests(self, workload: str) -> dict[int, ContestRecord]:
        """By replicate."""
        found = [c for c in self.records.contests if c.workload == workload]
        return {c.replicate: c for c in sorted(found, key=lambda c: c.replicate)}

    def dataset(self, workload: str) -> str:
        """What stands in the `dataset` column of every table."""
        for record in self.records.datasets:
            if record.workload == workload:
                return record.kind
        return "not recorded"

    def order(self, seat: BenchmarkId) -> tuple[object, ...]:
        """Sort key: workloads as configured, cpu first, threads, default first, reference
        first, controls after what they are controls of."""
        control = self.control(seat)
        return (
            self.workloads.index(seat.workload),
            *variant_order(seat.device, HOST.name),
            seat.threads,
            *variant_order(control.of if control else seat.variant, "default"),
            *variant_order(seat.framework, self.study.reference),
            -1.0 if control is None else control.spin,
            bool(control and control.pause),
        )


def keyed(batches: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(batches[["framework", "variant"]])


def variant_order(value: str, first: str) -> tuple[bool, str]:
    return (value != first, value)

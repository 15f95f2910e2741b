"""What everything else is about: a machine's records, and the seats in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from workflows.records import Contender, ContestRecord, MachineRecords, StudyRecord, TrapRow

Row = TypeVar("Row", bound=Any)

PARTS = ["data", "transfer", "step"]  # of a mini-batch, in order


class Seat(NamedTuple):
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
    def of(cls, workload: str, one: Contender) -> "Seat":
        return cls(workload, one.framework, one.variant, one.device, one.threads)


@dataclass(frozen=True)
class Machine:
    """One machine's records. `batches` holds the columns of `BATCHES`, the parts of each
    mini-batch in milliseconds (`data_ms`, `transfer_ms`, `step_ms`), and `ms`, the time
    compared: transfer and step. Reading the memory map (`data`) is the harness's work."""

    records: MachineRecords
    batches: pd.DataFrame

    @property
    def name(self) -> str:
        return self.records.machine

    @property
    def study(self) -> StudyRecord:
        return self.records.study

    @cached_property
    def traps(self) -> dict[tuple[str, str], TrapRow]:
        """By framework and variant."""
        return {(row.framework, row.variant): row for row in self.records.traps}

    def trap(self, seat: Seat) -> TrapRow | None:
        """What the seat's variant falls into; None for all that are compared across frameworks."""
        return self.traps.get((seat.framework, seat.variant))

    def without_traps(self, rows: Iterable[Row]) -> list[Row]:
        """Rows of a table, but for those of variants with a trap."""
        return [row for row in rows if (row.framework, row.variant) not in self.traps]

    def matched(self, batches: pd.DataFrame) -> pd.DataFrame:
        """Without those of variants with a trap."""
        keys = pd.MultiIndex.from_frame(batches[["framework", "variant"]])
        return batches[~keys.isin(list(self.traps))]

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

    def order(self, seat: Seat) -> tuple[object, ...]:
        """Sort key: workloads as configured, cpu first, threads, default first, reference
        first."""
        return (
            self.workloads.index(seat.workload),
            *variant_order(seat.device, "cpu"),
            seat.threads,
            *variant_order(seat.variant, "default"),
            *variant_order(seat.framework, self.study.reference),
        )


def variant_order(value: str, first: str) -> tuple[bool, str]:
    return (value != first, value)

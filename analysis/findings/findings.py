"""All conclusions about one machine, and the tables that contain them.

A new table is a module with the class of its rows, and one line: in `Findings` if other findings
need its rows, else `added(...)` in that module, which a section of the report imports.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import pandas as pd

from analysis.data.availability import Availability, availability
from analysis.data.processes import Measurements, by_benchmark, processes, sound
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison, PairLine, bases, comparisons, pair_lines
from analysis.findings.contenders import ContenderLine, contender_lines
from analysis.findings.controls import ControlLine, control_lines
from analysis.findings.fairness.as_timed import AsTimedLine, as_timed_lines
from analysis.findings.fairness.certificate_steps import (
    AgreementLine,
    GradientLine,
    agreement_lines,
    gradient_lines,
)
from analysis.findings.fairness.certificates import CertificateLine, certificate_lines
from analysis.findings.fairness.loss_check import LossCheck, check_losses
from analysis.findings.fairness.settings import SettingLine, setting_lines
from analysis.findings.fairness.shards import ShardLine, shard_lines
from analysis.findings.half_width import HalfWidthLine, half_width_lines
from analysis.findings.harness import HarnessLine, harness_lines
from analysis.findings.interference import TurnLine, side_by_side, turn_lines, without_flagged
from analysis.findings.machine import MachineLine, machine_lines
from analysis.findings.matrix import MatrixLine, matrix_lines
from analysis.findings.missing import MissingLine, missing_lines
from analysis.findings.start import StartLine, start_lines
from analysis.findings.steady_state import SteadyLine, steady_lines
from analysis.findings.variants.loading import LoadingLine, loading_lines
from analysis.findings.variants.parts import PartLine, part_lines
from analysis.findings.variants.pitfalls import PitfallLine, pitfall_lines
from analysis.findings.variants.queue import QueueLine, queue_lines
from analysis.findings.variants.reduced import ReducedLine, reduced_lines
from analysis.findings.variants.steps import StepLine, step_lines
from analysis.stats.intervals import columns, places

Row = TypeVar("Row")
# Where a formula begins in a spreadsheet. Some read the full-width forms, too. In some languages a
# semicolon ends a cell, even between quotation marks.
FORMULA = re.compile(r"^(?=[\t\r\n])|(?:^|(?<=[;\t\r\n]))(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


class Table(cached_property[list[Row]]):
    """A table of `Findings`, computed once and written to `file`.csv, by default under the name
    of the attribute.

    Columns are the row class's `COLUMNS`, or the machine and the fields of the class in order: an
    identity as its parts, an interval as three columns, and the kind of data set before the reason.
    An `optional` table is not written if no machine has a row of it.
    """

    def __init__(
        self,
        row: type[Row],
        rows: Callable[[Any], list[Row]],
        file: str = "",
        optional: bool = False,
    ) -> None:
        super().__init__(rows)
        self.row, self.file, self.optional = row, file, optional

    def of(self, findings: "Findings") -> list[Row]:
        return self.__get__(findings)

    @property
    def columns(self) -> list[str]:
        if named := getattr(self.row, "COLUMNS", ""):
            return str(named).split()
        names = [*chain.from_iterable(columns(self.row).values())]
        if names[0] == "id":
            place = names.index("reason") if "reason" in names else len(names)
            names[place:place] = ["dataset"]
            names[:1] = BenchmarkId._fields
        return ["machine", *names]


@dataclass(frozen=True)
class Findings:
    """One machine's tables; nothing in them comes from another machine."""

    machine: Machine

    @cached_property
    def batches(self) -> pd.DataFrame:
        """Mini-batches of processes that lived to the end of their contest, with warm-up as the
        contests marked it."""
        return sound(self.machine)

    @cached_property
    def measured(self) -> dict[BenchmarkId, pd.DataFrame]:
        found = by_benchmark(processes(self.batches))
        return {one: found[one] for one in sorted(found, key=self.machine.order)}

    @cached_property
    def matched(self) -> dict[BenchmarkId, pd.DataFrame]:
        """The measured benchmarks that are compared across frameworks."""
        return {one: rows for one, rows in self.measured.items() if self.machine.compares(one)}

    @cached_property
    def availability(self) -> dict[BenchmarkId, Availability]:
        found = {(one, int(r)) for one, rows in self.measured.items() for r in rows.index}
        return availability(self.machine, found)

    @cached_property
    def measurements(self) -> Measurements:
        unsteady = {line.id: line.reason for line in self.steady if not line.steady}
        return Measurements(self.machine, self.availability, self.measured, unsteady)

    @cached_property
    def loss_check(self) -> LossCheck:
        return check_losses(self.machine, self.machine.without_pitfalls(self.batches))

    @cached_property
    def bases(self) -> dict[BenchmarkId, BenchmarkId]:
        """The benchmark that each benchmark is compared with."""
        return bases(self.measurements, self.loss_check)

    @cached_property
    def turns(self) -> list[TurnLine]:
        return turn_lines(self.machine)

    @cached_property
    def unflagged_pairs(self) -> list[tuple[Comparison, Comparison]]:
        """Comparisons beside the same ones without the flagged turns, as in `side_by_side`."""
        calm = without_flagged(self.machine, self.turns)
        if calm is self.machine:
            return side_by_side(self.comparisons, self.comparisons)
        again = Findings(calm)
        rows = comparisons(again.measurements, self.loss_check, self.bases)
        return side_by_side(self.comparisons, rows)

    @property
    def compared_settings(self) -> list[SettingLine]:
        """The settings of benchmarks that are compared across frameworks."""
        return self.machine.matched_rows(self.settings)

    contenders = Table(ContenderLine, lambda f: contender_lines(f.measurements))
    harness = Table(HarnessLine, lambda f: harness_lines(f.machine, f.contenders), optional=True)
    steady = Table(SteadyLine, lambda f: steady_lines(f.machine, f.measured))
    start = Table(StartLine, lambda f: start_lines(f.machine, f.measured, f.batches, f.comparisons))
    comparisons = Table(Comparison, lambda f: comparisons(f.measurements, f.loss_check, f.bases))
    half_widths = Table(
        HalfWidthLine, lambda f: half_width_lines(f.machine, f.comparisons), file="half_width"
    )
    unflagged = Table(
        Comparison,
        lambda f: [calm for _, calm in f.unflagged_pairs] if f.turns else [],
        optional=True,
    )
    matrix = Table(MatrixLine, lambda f: matrix_lines(f.measurements, f.loss_check))
    pairs = Table(PairLine, lambda f: pair_lines(f.measurements, f.loss_check))
    certificate = Table(CertificateLine, lambda f: certificate_lines(f.machine))
    agreement = Table(AgreementLine, lambda f: agreement_lines(f.machine))
    gradients = Table(GradientLine, lambda f: gradient_lines(f.machine))
    shards = Table(ShardLine, lambda f: shard_lines(f.machine), optional=True)
    as_timed = Table(AsTimedLine, lambda f: as_timed_lines(f.machine, f.loss_check), optional=True)
    pitfalls = Table(
        PitfallLine, lambda f: pitfall_lines(f.measurements, f.batches), file="traps", optional=True
    )
    queue = Table(QueueLine, lambda f: queue_lines(f.machine, f.batches, f.pitfalls), optional=True)
    steps = Table(StepLine, lambda f: step_lines(f.measurements, f.loss_check), optional=True)
    parts = Table(PartLine, lambda f: part_lines(f.measurements, f.loss_check), optional=True)
    reduced = Table(
        ReducedLine, lambda f: reduced_lines(f.measurements, f.loss_check), optional=True
    )
    loading = Table(
        LoadingLine, lambda f: loading_lines(f.measurements, f.loss_check, f.batches), optional=True
    )
    controls = Table(
        ControlLine, lambda f: control_lines(f.measurements, f.loss_check), optional=True
    )
    settings = Table(SettingLine, lambda f: setting_lines(f.machine, f.availability))
    system_info = Table(MachineLine, lambda f: machine_lines(f.machine), file="machine")
    missing = Table(MissingLine, lambda f: missing_lines(f.availability, f.comparisons))


TABLES: dict[str, Table[Any]] = {
    table.file or name: table for name, table in vars(Findings).items() if isinstance(table, Table)
}


def added(name: str, table: Table[Row]) -> Table[Row]:
    """Add a table from the module that has its rows; `table.of(findings)` gives the rows."""
    table.__set_name__(Findings, name)
    TABLES[table.file or name] = table
    return table


def tables(findings: Sequence[Findings]) -> dict[str, str]:
    """The text of every table by name, machine after machine."""
    found = {
        name: [(row, one.machine) for one in findings for row in table.of(one)]
        for name, table in TABLES.items()
    }
    return {
        name: comma_separated(table.columns, found[name])
        for name, table in TABLES.items()
        if found[name] or not table.optional
    }


def comma_separated(columns: Sequence[str], rows: Sequence[tuple[Any, Machine]]) -> str:
    """These columns of rows, and their names, as CSV."""
    cells = ([value(row, column, machine) for column in columns] for row, machine in rows)
    return as_csv([columns, *cells])


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV; numbers have six significant digits."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(cell, row) for row in rows)
    return text.getvalue()


def value(row: Any, column: str, machine: Machine) -> Any:
    """A column of a row: an attribute of the row itself, or of the identity, the estimate or
    another value in it."""
    if column == "machine":
        return machine.name
    if column == "dataset":
        return machine.dataset(row.id.workload)
    holders = [row]
    for holder in holders:
        of: Any = type(holder)
        if is_dataclass(holder) and (found := places(of).get(column)):
            name, place = found
            return getattr(holder, name)[place]
        if hasattr(holder, column):
            return getattr(holder, column)
        holders += vars(holder).values() if is_dataclass(holder) else []
    raise AttributeError(f"{type(row).__name__} has no column {column}")


def cell(value: Any) -> str:
    """Text that a spreadsheet would take for a formula gets an apostrophe; numbers stay."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    text = str(value)
    return text if is_number(text) else FORMULA.sub("'", text)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

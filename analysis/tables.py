"""Everything that is concluded on one machine, and the tables it is written to."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pandas as pd

from analysis.agreement import AgreementLine, GradientLine, agreement_lines, gradient_lines
from analysis.certificates import CertificateLine, certificate_lines
from analysis.comparisons import Comparison, comparisons
from analysis.contenders import ContenderLine, contender_lines
from analysis.controls import ControlLine, control_lines
from analysis.devices import SpeedUp, speed_ups
from analysis.machine import MachineLine, machine_lines
from analysis.missing import MissingLine, missing_lines
from analysis.precision import PrecisionLine, precision_lines
from analysis.processes import by_seat, processes, sound
from analysis.roster import Attendance, roster
from analysis.settings import SettingLine, setting_lines
from analysis.study import Machine, Seat
from analysis.trajectories import Trajectories, follow
from analysis.traps import TrapLine, trap_lines

KINDS: dict[str, type] = {
    "contenders": ContenderLine,
    "comparisons": Comparison,
    "precision": PrecisionLine,
    "devices": SpeedUp,
    "certificate": CertificateLine,
    "agreement": AgreementLine,
    "gradients": GradientLine,
    "traps": TrapLine,
    "controls": ControlLine,
    "settings": SettingLine,
    "machine": MachineLine,
    "missing": MissingLine,
}

OCCASIONAL = ("traps", "controls")


@dataclass(frozen=True)
class Findings:
    """One machine's tables; nothing in them comes from another machine."""

    machine: Machine

    @cached_property
    def batches(self) -> pd.DataFrame:
        return sound(self.machine)

    @cached_property
    def measured(self) -> dict[Seat, pd.DataFrame]:
        found = by_seat(processes(self.machine))
        return {seat: found[seat] for seat in sorted(found, key=self.machine.order)}

    @cached_property
    def matched(self) -> dict[Seat, pd.DataFrame]:
        """Those measured that are compared across frameworks."""
        return {s: rows for s, rows in self.measured.items() if not self.machine.apart(s)}

    @cached_property
    def roster(self) -> dict[Seat, Attendance]:
        found = {(seat, int(r)) for seat, rows in self.measured.items() for r in rows.index}
        return roster(self.machine, found)

    @cached_property
    def trajectories(self) -> Trajectories:
        return follow(self.machine, self.machine.untrapped(self.batches))

    @cached_property
    def contenders(self) -> list[ContenderLine]:
        return contender_lines(self.machine, self.roster, self.measured)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        return comparisons(self.machine, self.roster, self.measured, self.trajectories)

    @cached_property
    def precision(self) -> list[PrecisionLine]:
        return precision_lines(self.machine, self.comparisons)

    @cached_property
    def devices(self) -> list[SpeedUp]:
        return speed_ups(self.machine, self.roster, self.measured)

    @cached_property
    def certificate(self) -> list[CertificateLine]:
        return certificate_lines(self.machine)

    @cached_property
    def agreement(self) -> list[AgreementLine]:
        return agreement_lines(self.machine)

    @cached_property
    def gradients(self) -> list[GradientLine]:
        return gradient_lines(self.machine)

    @cached_property
    def traps(self) -> list[TrapLine]:
        return trap_lines(self.machine, self.roster, self.measured, self.batches)

    @cached_property
    def controls(self) -> list[ControlLine]:
        return control_lines(self.machine, self.roster, self.measured, self.trajectories)

    @cached_property
    def settings(self) -> list[SettingLine]:
        return setting_lines(self.machine, self.roster)

    @property
    def compared_settings(self) -> list[SettingLine]:
        """Without those of variants with a trap."""
        return self.machine.matched_rows(self.settings)

    @cached_property
    def environment(self) -> list[MachineLine]:
        return machine_lines(self.machine)

    @cached_property
    def missing(self) -> list[MissingLine]:
        return missing_lines(self.machine, self.roster, self.comparisons)


def tables(findings: Sequence[Findings]) -> dict[str, str]:
    """The text of every table by name, machine after machine; traps.csv and controls.csv only if
    there are any."""
    return {
        name: comma_separated(
            kind,
            [
                row
                for found in findings
                for row in getattr(found, "environment" if name == "machine" else name)
            ],
        )
        for name, kind in KINDS.items()
        if name not in OCCASIONAL or any(getattr(found, name) for found in findings)
    }


def comma_separated(kind: type, rows: Sequence[Any]) -> str:
    """Rows as CSV: columns are the fields of `kind`, numbers have six significant digits."""
    names = [field.name for field in fields(kind)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([cell(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return str(value)

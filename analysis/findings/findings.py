"""Everything that is concluded on one machine, and the tables it is written to."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pandas as pd

from analysis.data.availability import Availability, roster
from analysis.data.processes import by_seat, processes, sound
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison, comparisons
from analysis.findings.contenders import ContenderLine, contender_lines
from analysis.findings.controls import ControlLine, control_lines
from analysis.findings.devices import SpeedUp, speed_ups
from analysis.findings.fairness.certificate_steps import (
    AgreementLine,
    GradientLine,
    agreement_lines,
    gradient_lines,
)
from analysis.findings.fairness.certificates import CertificateLine, certificate_lines
from analysis.findings.fairness.loss_check import Trajectories, follow
from analysis.findings.fairness.settings import SettingLine, setting_lines
from analysis.findings.harness import HarnessLine, harness_lines
from analysis.findings.interference import TurnLine, side_by_side, turn_lines, without_flagged
from analysis.findings.machine import MachineLine, machine_lines
from analysis.findings.missing import MissingLine, missing_lines
from analysis.findings.pitfalls import PitfallLine, trap_lines
from analysis.findings.precision import PrecisionLine, precision_lines
from analysis.findings.start import StartLine, start_lines
from analysis.steady_state.table import SteadyLine, SteadyState, find, marked

OPTIONAL = (
    "harness",
    "traps",
    "controls",
    "turns",
    "unflagged",
)  # not written where no study has any
KINDS: dict[str, type] = {
    "contenders": ContenderLine,
    "harness": HarnessLine,
    "steady": SteadyLine,
    "start": StartLine,
    "comparisons": Comparison,
    "precision": PrecisionLine,
    "unflagged": Comparison,
    "devices": SpeedUp,
    "certificate": CertificateLine,
    "agreement": AgreementLine,
    "gradients": GradientLine,
    "traps": PitfallLine,
    "controls": ControlLine,
    "settings": SettingLine,
    "turns": TurnLine,
    "machine": MachineLine,
    "missing": MissingLine,
}


@dataclass(frozen=True)
class Findings:
    """One machine's tables; nothing in them comes from another machine."""

    machine: Machine

    @cached_property
    def dealt(self) -> pd.DataFrame:
        """Warm-up as the contests marked it."""
        return sound(self.machine)

    @cached_property
    def found(self) -> SteadyState:
        return find(self.machine, self.dealt)

    @property
    def steady(self) -> list[SteadyLine]:
        return self.found.lines

    @cached_property
    def batches(self) -> pd.DataFrame:
        """Warm-up as marked, and what came before steady state was found."""
        return marked(self.dealt, self.found.starts)

    @cached_property
    def measured(self) -> dict[BenchmarkId, pd.DataFrame]:
        found = by_seat(processes(self.batches))
        return {seat: found[seat] for seat in sorted(found, key=self.machine.order)}

    @cached_property
    def matched(self) -> dict[BenchmarkId, pd.DataFrame]:
        """Those measured that are compared across frameworks."""
        return {s: rows for s, rows in self.measured.items() if not self.machine.apart(s)}

    @cached_property
    def roster(self) -> dict[BenchmarkId, Availability]:
        found = {(seat, int(r)) for seat, rows in self.measured.items() for r in rows.index}
        return roster(self.machine, found)

    @cached_property
    def trajectories(self) -> Trajectories:
        return follow(self.machine, self.machine.untrapped(self.batches))

    @cached_property
    def contenders(self) -> list[ContenderLine]:
        return contender_lines(self.machine, self.roster, self.measured, self.found.unsteady)

    @cached_property
    def harness(self) -> list[HarnessLine]:
        return harness_lines(self.machine, self.contenders)

    @cached_property
    def start(self) -> list[StartLine]:
        return start_lines(self.machine, self.measured, self.dealt, self.found, self.comparisons)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        return comparisons(
            self.machine, self.roster, self.measured, self.trajectories, self.found.unsteady
        )

    @cached_property
    def precision(self) -> list[PrecisionLine]:
        return precision_lines(self.machine, self.comparisons)

    @cached_property
    def turns(self) -> list[TurnLine]:
        return turn_lines(self.machine)

    @cached_property
    def weathered(self) -> list[tuple[Comparison, Comparison]]:
        """Each comparison that has a ratio, and the same without the flagged turns."""
        calm = without_flagged(self.machine, self.turns)
        again = self if calm is self.machine else Findings(calm)
        return side_by_side(self.comparisons, again.comparisons)

    @property
    def unflagged(self) -> list[Comparison]:
        return [again for _, again in self.weathered] if self.turns else []

    @cached_property
    def devices(self) -> list[SpeedUp]:
        return speed_ups(self.machine, self.roster, self.measured, self.found.unsteady)

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
    def traps(self) -> list[PitfallLine]:
        return trap_lines(
            self.machine, self.roster, self.measured, self.batches, self.found.unsteady
        )

    @cached_property
    def controls(self) -> list[ControlLine]:
        return control_lines(
            self.machine, self.roster, self.measured, self.trajectories, self.found.unsteady
        )

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
    """The text of every table by name, machine after machine."""
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
        if name not in OPTIONAL or any(getattr(found, name) for found in findings)
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

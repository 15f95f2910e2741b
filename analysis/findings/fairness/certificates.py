"""The certificate table: which contenders compute the same, and which pairs may be compared."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from analysis.data.results import BenchmarkId, Machine
from analysis.format import line, listing, scientific
from workflows.records.schema import CertificateRecord, CertificateRow, Measured, steps_compared
from workflows.records.thresholds import UNFENCED

COMPANIONS = {"numpy", "python"}  # recorded with every framework, but no part of it


@dataclass(frozen=True)
class CertificateLine:
    """A row of certificate.csv: relative distances from the reference, the largest of any step or
    tensor. `loss` and `weights` are of the long run; `full_`: at full size; `sgd_`: with plain SGD.
    `gradients` and `rounding` are the first gradients in float64 and in float32. `restarted`:
    losses after a restart; `float32`: first losses in float32 from its own in float64. `unfenced`:
    the share of a step that was unfinished after its fence; `timed`: declared work besides the
    step."""

    id: BenchmarkId
    status: str
    reference: str
    tolerance: float
    steps: int
    loss: float | None
    weights: float | None
    full_steps: int
    full_loss: float | None
    full_weights: float | None
    sgd_loss: float | None
    sgd_weights: float | None
    full_sgd_loss: float | None
    full_sgd_weights: float | None
    gradients: float | None
    rounding: float | None
    reduced: str
    restarted: float | None
    float32: float | None
    unfenced: float | None
    timed: str
    narrowed: bool
    parameters: int
    parameters_long: int
    reason: str
    cause: str


class Permission(NamedTuple):
    """Whether a pair may be compared, with a summary of its certificates."""

    granted: bool
    text: str


FLOAT64 = "float64"


class Certificates:
    """The certificates of one machine by benchmark."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.settings: dict[BenchmarkId, dict[str, str]] = {}  # in effect, as far as asked for
        self.found: dict[BenchmarkId, tuple[CertificateRecord, CertificateRow]] = {}
        for record in machine.records.certificates:
            for row in record.rows:
                self.found[BenchmarkId.of(record.workload, row)] = (record, row)

    def pair(self, one: BenchmarkId, other: BenchmarkId) -> Permission:
        """Whether two benchmarks may be compared. Both must agree with the reference or have
        declared how they deviate from it, in the versions that were measured."""
        rows, refusals, deviations = [], [], []
        for side in (one, other):
            record, row = self.found.get(side, (None, None))
            if row is None or record is None:
                refusals.append(f"{side.contender} has no certificate")
            elif row.status not in ("agrees", "declared"):
                refusals.append(f"{side.contender} {row.status}: {line(row.reason)}")
            elif others := self.outdated(side, row):
                refusals.append(f"{side.contender} was certified with {others}")
            else:
                rows.append(row)
                if row.status == "declared":
                    deviations.append(declared(row, record.declared_steps))
        if refusals:
            return Permission(False, "; ".join(refusals))
        deviations += [f"declared: timed region ({row.timed})" for row in rows if row.timed]
        deviations += [f"{r.name} {line(r.reason)}" for r in rows if r.precision != FLOAT64]
        if deviations:
            return Permission(True, "; ".join(dict.fromkeys(deviations)))
        distance = scientific(max(map(furthest, rows)))
        return Permission(True, f"agrees to {distance}{steps_compared(rows)}")

    def waits(self, benchmark: BenchmarkId) -> bool:
        """Whether its time covers all its work. True if no probe of its fence was recorded."""
        _, row = self.found.get(benchmark, (None, None))
        return row is None or (row.unfenced or 0.0) <= UNFENCED

    def unread(self, benchmark: BenchmarkId) -> str:
        """Whether steps that nobody waits for end with `the same` loss and weights as steps that
        are waited for, or with `others`; "" if the records do not say."""
        _, row = self.found.get(benchmark, (None, None))
        if row is None or row.unread is None:
            return ""
        return "the same" if row.unread else "others"

    def outdated(self, benchmark: BenchmarkId, row: CertificateRow) -> str:
        """`torch 2.12.0, measured with 2.13.0`; "" if nothing differs."""
        return ", ".join(
            f"{name} {row.versions.get(name, 'of no version')}, measured with {listing(found)}"
            for name, found in sorted(self.measured.get(benchmark, {}).items())
            if name not in COMPANIONS and {*found} != {row.versions.get(name)}
        )

    @cached_property
    def measured(self) -> dict[BenchmarkId, dict[str, dict[str, None]]]:
        """The versions that each benchmark was measured with, by package."""
        measured: dict[BenchmarkId, dict[str, dict[str, None]]] = {}
        for workload in self.machine.workloads:
            for contest in self.machine.contests(workload).values():
                for one in contest.contenders:
                    if one.status == "ok":
                        own = measured.setdefault(BenchmarkId.of(workload, one), {})
                        for name, version in one.versions.items():
                            own.setdefault(name, {})[version] = None
        return measured


def declared(row: CertificateRow, steps: int) -> str:
    """`declared: optimiser.adam (loss 3.0e-4 within 10 steps)`; the reason of a declared row
    starts with the component that deviates. A reduced precision is named alone, with its distances,
    because the float32 variant declares any other deviation, too."""
    _, precision, rest = row.reason.rpartition("precision.")
    if precision:
        off = [max(found, default=0.0) for found in (row.rounding.values(), row.float32)]
        found = "gradients {}, losses {}".format(*map(scientific, off))
        return f"declared: {precision}{rest.partition(':')[0]} ({found})"
    return f"declared: {row.reason.partition(':')[0] or 'nothing named'} ({size([row], steps)})"


def declares(text: str) -> bool:
    """Whether a pair's certificate says that its sides differ in something that is declared."""
    return bool(components(text))


def components(text: str) -> list[str]:
    """The deviating components that a pair's certificate names, each once."""
    return list(dict.fromkeys(re.findall(r"declared: (.*?) \(", text)))


def size(rows: Sequence[CertificateRow], steps: int) -> str:
    """How far a declared deviation takes the loss in the first `steps` steps, before chaotic
    growth, and how far off the state is that is declared to deviate."""
    early = [
        max(max(run.loss[:steps]) for run in (row.long, row.full) if run)
        for row in rows
        if row.long and row.long.loss
    ]
    if not early:
        return "not measured"
    state = max((off for row in rows for off in row.state.values()), default=0.0)
    beside = f", state {scientific(state)}" if state else ""
    ends = dict.fromkeys([scientific(min(early)), scientific(max(early))])
    return f"loss {' to '.join(ends)} within {steps} steps{beside}"


def furthest(row: CertificateRow) -> float:
    """Largest relative distance of any loss, weights and first gradient, with its own optimiser."""
    runs = [run for run in (row.long, row.full) if run is not None]
    ends = [end for run in runs for end in (run.worst_loss, run.worst_weights)]
    return max([*ends, *row.gradients.values()], default=0.0)


def certificate_lines(machine: Machine) -> list[CertificateLine]:
    found = Certificates(machine).found
    return [
        CertificateLine(
            benchmark,
            status=row.status,
            reference=record.reference,
            tolerance=record.tolerance,
            steps=row.compared or record.steps,
            loss=loss(row.long),
            weights=weights(row.long),
            full_steps=record.full_steps,
            full_loss=loss(row.full),
            full_weights=weights(row.full),
            sgd_loss=loss(row.substituted),
            sgd_weights=weights(row.substituted),
            full_sgd_loss=loss(row.substituted_full),
            full_sgd_weights=weights(row.substituted_full),
            gradients=max(row.gradients.values(), default=None),
            rounding=max(row.rounding.values(), default=None),
            reduced=row.reduced,
            restarted=max(row.restarted, default=None),
            float32=max(row.float32, default=None),
            unfenced=row.unfenced,
            timed=line(row.timed),
            narrowed=record.narrowed,
            parameters=record.parameters,
            parameters_long=record.parameters_long,
            reason=line(row.reason),
            cause=line(row.cause),
        )
        for benchmark, (record, row) in sorted(
            found.items(), key=lambda item: machine.order(item[0])
        )
    ]


def loss(run: Measured | None) -> float | None:
    return None if run is None else run.worst_loss


def weights(run: Measured | None) -> float | None:
    return None if run is None else run.worst_weights

"""How far each contender is from the reference, step by step and tensor by tensor."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from analysis.data.results import BenchmarkId, Machine
from analysis.format import line
from workflows.records.schema import CertificateRecord, CertificateRow, Measured
from workflows.records.thresholds import WORST


@dataclass(frozen=True)
class AgreementLine:
    """A row of agreement.csv: relative distance from the reference in float64, of the loss of one
    step and of the tensor with the largest difference after it (L2). Step 0 is before the first.
    `run`: `long`, `full` (size), or either with plain SGD instead of the deviating optimiser
    (`substituted`, `substituted_full`); `none` if it did not run, which `reason` explains."""

    id: BenchmarkId
    optimiser: str
    run: str
    status: str
    step: int
    loss: float | None
    weights: float | None
    tensor: str
    reason: str


@dataclass(frozen=True)
class GradientLine:
    """A row of gradients.csv: one tensor's gradient in the first step at full size, its
    relative L2 distance from the reference's float64 gradient, in float64 and in float32, and
    how far off it may be in float32 at the most."""

    id: BenchmarkId
    tensor: str
    float64: float | None
    float32: float | None
    allowed: float
    reduced: str
    reason: str


Rows = list[tuple[BenchmarkId, CertificateRecord, CertificateRow]]


def certified(machine: Machine) -> Rows:
    """All certificates, in the order of the tables."""
    found = [
        (BenchmarkId.of(record.workload, row), record, row)
        for record in machine.records.certificates
        for row in record.rows
    ]
    return sorted(found, key=lambda item: machine.order(item[0]))


def agreement_lines(machine: Machine) -> list[AgreementLine]:
    return [
        AgreementLine(
            benchmark,
            optimiser=optimiser,
            run=name if run else "none",
            status=status,
            step=step,
            loss=run.loss[step - 1] if run and step else None,
            weights=max(tensors.values(), default=None),
            tensor=max(tensors, key=lambda tensor: tensors[tensor], default=""),
            reason=line(reason),
        )
        for benchmark, _, row in certified(machine)
        for optimiser, name, status, run, reason in runs(machine, benchmark.workload, row)
        for step, tensors in (run.weights if run else NOTHING).items()
    ]


class Run(NamedTuple):
    """One run of a certificate; `measured` is None if it did not run."""

    optimiser: str
    name: str
    status: str
    measured: Measured | None
    reason: str


NOTHING: dict[int, dict[str, float]] = {0: {}}


def runs(machine: Machine, workload: str, row: CertificateRow) -> Iterator[Run]:
    own = own_optimiser(machine, workload)
    for name, optimiser, run in (
        ("long", own, row.long),
        ("full", own, row.full),
        ("substituted", "sgd", row.substituted),
        ("substituted_full", "sgd", row.substituted_full),
    ):
        if run or name == "long":
            yield Run(optimiser, name, row.status, run, row.reason)
    for kind, other in row.optimisers.items():
        yield Run(kind, "long", other.status, other.run, other.reason)


def own_optimiser(machine: Machine, workload: str) -> str:
    optimiser = machine.workload(workload).description["optimiser"]
    return optimiser if isinstance(optimiser, str) else next(iter(optimiser))


def gradient_lines(machine: Machine) -> list[GradientLine]:
    return [
        GradientLine(
            benchmark,
            tensor=tensor,
            float64=row.gradients.get(tensor),
            float32=row.rounding.get(tensor),
            allowed=WORST * record.rounding,
            reduced=row.reduced,
            reason="" if tensor else line(row.reason),
        )
        for benchmark, record, row in certified(machine)
        for tensor in row.rounding or row.gradients or [""]
    ]

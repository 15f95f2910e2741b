"""How much faster a reduced precision is, and how far it leads from float64: each variant in
bfloat16 or TF32 over the float32 variant of its own framework."""

from dataclasses import dataclass
from typing import ClassVar

from analysis.data.processes import Measurements
from analysis.findings.comparisons import ToReference, comparisons
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import Estimate
from workflows.records.schema import CertificateRow


@dataclass(frozen=True)
class ReducedLine(ToReference):
    """A row of reduced.csv: the estimate of this variant's time over that of `beside`, which
    computes in float32.

    `gradients` is the largest relative distance of a first gradient from float64, and `losses` that
    of a loss in the certificate's first steps; `float32_gradients` and `float32_losses` are those
    of `beside`. `allowed` is the most that any of them may be in this format.
    """

    COLUMNS: ClassVar = (
        "machine workload framework device threads variant format beside replicates ratio "
        "ratio_low ratio_high p verdict gradients losses allowed float32_gradients float32_losses "
        "certificate dataset reason"
    )

    format: str
    estimate: Estimate
    gradients: float | None
    losses: float | None
    allowed: float | None
    float32_gradients: float | None
    float32_losses: float | None
    certificate: str
    reason: str

    @property
    def beside(self) -> str:
        return self.base.variant


def reduced_lines(found: Measurements, check: LossCheck) -> list[ReducedLine]:
    """A row for each variant whose float32 variant was measured; without a ratio, with a reason."""
    machine, certificates = found.machine, Certificates(found.machine).found
    formats = {one: own for one in found.availability if (own := machine.format(one))}
    pairs = {one: one._replace(variant=own.beside) for one, own in formats.items()}
    pairs = {one: base for one, base in pairs.items() if base in found.processes}
    lines = []
    for row in comparisons(found, check, pairs):
        reduced, full = (
            certificates[side][1] if side in certificates else None for side in (row.id, row.base)
        )
        lines.append(
            ReducedLine(
                row.id,
                row.base,
                formats[row.id].change,
                row.estimate,
                *distances(reduced),
                reduced.room[1] if reduced and reduced.room else None,
                *distances(full),
                row.certificate,
                row.reason,
            )
        )
    return lines


def distances(row: CertificateRow | None) -> tuple[float | None, float | None]:
    """The largest distance of a first gradient, and of a loss."""
    if row is None:
        return None, None
    return max(row.rounding.values(), default=None), max(row.float32, default=None)

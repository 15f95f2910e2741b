"""What each pitfall costs: its variant compared with the same framework without it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from analysis.data.processes import COLUMNS, Measurements, identity
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison, compare
from analysis.findings.fairness.certificates import Certificates
from analysis.format import percent, scientific
from analysis.stats.inference import Estimate
from frameworks.workloads.distance import relative

STEPS = (1, 10, 100)  # steps at which the loss is reported
CHANCE = 0.05  # probability that sentences call any pitfall without an effect slower or faster
SAME = 1e-12  # relative; certificates demand this of every variant without a pitfall
EARLY = "its time leaves work out: synchronise() returned before the work was done"


@dataclass(frozen=True)
class PitfallLine:
    """A row of traps.csv: the estimate of the variant's time over that of the variant `beside`
    it, and how the pitfall changes the loss. `p_adjusted` is corrected over the machine's pitfalls.

    `loss_1` to `loss_last` are relative differences of the float64 losses at those steps of
    the certificate's long run, which has `steps` steps. `end_loss` and `beside_end_loss` are the
    losses of the last mini-batch of a turn in the timed float32 runs, means over all turns.

    `unread`: a hundred steps that nobody waits for end with `the same` loss and weights, to the
    last bit, as steps that are waited for, or with `others`.

    If the certificate found that the variant does not wait for its work, the ratio is its reported
    time over the true time. That says nothing about speed, so the verdict is `refused`.
    """

    COLUMNS: ClassVar = (
        "machine workload framework pitfall variant beside device threads replicates ratio "
        "ratio_low ratio_high p p_adjusted verdict steps loss_1 loss_10 loss_100 loss_last "
        "end_loss beside_end_loss unread dataset reason"
    )

    id: BenchmarkId
    pitfall: str
    beside: str
    estimate: Estimate
    steps: int
    loss_1: float | None
    loss_10: float | None
    loss_100: float | None
    loss_last: float | None
    end_loss: float | None
    beside_end_loss: float | None
    unread: str
    reason: str

    @property
    def early(self) -> bool:
        """Whether its time was taken before the work was done."""
        return self.estimate.verdict == "refused"

    @property
    def effect(self) -> str:
        """`slower` or `faster`, if that verdict remains when all pitfalls are considered (Holm)."""
        verdict, p = self.estimate.verdict, self.estimate.p_adjusted
        return verdict if verdict in ("slower", "faster") and p and p < CHANCE else ""

    @property
    def losses(self) -> list[tuple[int, float]]:
        """Step and relative difference, for those of `STEPS` that the certificate's run has."""
        known = zip(STEPS, (self.loss_1, self.loss_10, self.loss_100), strict=True)
        return [(step, loss) for step, loss in known if loss is not None]

    @property
    def worst_loss(self) -> float:
        return max((loss for _, loss in self.losses), default=0.0)


def pitfall_lines(found: Measurements, batches: pd.DataFrame) -> list[PitfallLine]:
    """By framework and workload, the costliest first and those without a time last. Ratios do not
    need certificates here."""
    machine = found.machine
    pitfalls = {one: pitfall for one in found.availability if (pitfall := machine.pitfall(one))}
    if not pitfalls:
        return []
    beside = {one: one._replace(variant=pitfall.beside) for one, pitfall in pitfalls.items()}
    ends, certificates = end_losses(batches), Certificates(machine)
    lines = [
        PitfallLine(
            row.id,
            pitfall=pitfalls[row.id].pitfall,
            beside=row.base.variant,
            estimate=estimate,
            **loss_differences(certificates, row.id, row.base),
            end_loss=ends.get(row.id),
            beside_end_loss=ends.get(row.base),
            unread=certificates.unread(row.id),
            reason=reason,
        )
        for row in compare(beside, found)
        for estimate, reason in [judged(row, certificates)]
    ]
    reference = machine.study.reference
    return sorted(
        lines,
        key=lambda line: (
            line.id.framework != reference, line.id.framework,
            machine.workloads.index(line.id.workload), line.id.device, line.id.threads,
            -(line.estimate.ratio or 0), line.pitfall,
        ),
    )  # fmt: skip


def judged(row: Comparison, certificates: Certificates) -> tuple[Estimate, str]:
    """The estimate and its reason. The verdict is `refused` if the time leaves work out."""
    if row.estimate.ratio is None or certificates.waits(row.id):
        return row.estimate, row.reason
    return replace(row.estimate, verdict="refused"), "; ".join(filter(None, [EARLY, row.reason]))


def loss_differences(
    certificates: Certificates, one: BenchmarkId, base: BenchmarkId
) -> dict[str, Any]:
    """Differences of the two long runs in float64; None if there is only one run."""
    own, other = (
        certificates.found[side][1].losses if side in certificates.found else []
        for side in (one, base)
    )
    steps = min(len(own), len(other))
    differences = [relative(a, b) for a, b in zip(own[:steps], other[:steps], strict=True)]
    at = {f"loss_{step}": differences[step - 1] if step <= steps else None for step in STEPS}
    return {"steps": steps, **at, "loss_last": differences[-1] if steps else None}


def end_losses(batches: pd.DataFrame) -> dict[BenchmarkId, float]:
    turns = batches[batches["round"] > 0].sort_values("step")
    last = turns.groupby([*COLUMNS, "replicate", "round"])["loss"].last()
    return {identity(key): float(loss) for key, loss in last.groupby(COLUMNS).mean().items()}


def share(difference: float) -> str:
    if difference > 1:
        return f"{100 * difference:,.0f} %"
    return percent(difference) if difference >= 1e-3 else scientific(difference)

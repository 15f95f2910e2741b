"""What a trap costs: each variant with one, against the same framework without it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import (
    Comparison,
    blank,
    estimated,
    held_back,
    judged,
    pairwise_logs,
    why,
)
from analysis.findings.fairness.certificates import Certificates
from analysis.format import percent, scientific
from analysis.stats.inference import Verdict
from frameworks.workloads.distance import relative

STEPS = (1, 10, 100)  # at which the loss is told
SAME = 1e-12  # relative; what certificates demand of everybody without a trap


@dataclass(frozen=True)
class PitfallLine:
    """A row of traps.csv: `ratio` is the variant's time over that of the one `beside` it, with
    interval, p and verdict as in comparisons.csv; Holm's family is the traps of the machine.

    `loss_1` to `loss_last` are relative differences of the float64 losses at those steps of
    the certificate's long run, of `steps`. `end_loss` and `beside_end_loss` are the losses of
    the last mini-batch of a turn in the timed float32 runs, means over all turns.
    """

    machine: str
    workload: str
    framework: str
    trap: str
    variant: str
    beside: str
    device: str
    threads: int
    replicates: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    detectable: float | None
    steps: int
    loss_1: float | None
    loss_10: float | None
    loss_100: float | None
    loss_last: float | None
    end_loss: float | None
    beside_end_loss: float | None
    dataset: str
    reason: str

    @property
    def losses(self) -> list[tuple[int, float]]:
        """Step and relative difference, as far as the certificate went."""
        told = zip(STEPS, (self.loss_1, self.loss_10, self.loss_100), strict=True)
        return [(step, loss) for step, loss in told if loss is not None]

    @property
    def worst_loss(self) -> float:
        return max((loss for _, loss in self.losses), default=0.0)


def trap_lines(
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    batches: pd.DataFrame,
    unsteady: dict[BenchmarkId, str],
) -> list[PitfallLine]:
    """By framework and workload, what costs most first; what was not measured last."""
    seats = {seat: trap for seat in roster if (trap := machine.trap(seat))}
    if not seats:
        return []
    times = timed({s: s._replace(variant=t.beside) for s, t in seats.items()},
                  machine, roster, measured, unsteady)  # fmt: skip
    ends, certificates = end_losses(batches), Certificates(machine)
    lines = []
    for (seat, trap), row in zip(seats.items(), times, strict=True):
        base = seat._replace(variant=trap.beside)
        lines.append(
            PitfallLine(
                machine=machine.name,
                **seat._asdict(),
                trap=trap.trap,
                beside=trap.beside,
                **{name: getattr(row, name) for name in ESTIMATES},
                **loss_differences(certificates, seat, base),
                end_loss=ends.get(seat),
                beside_end_loss=ends.get(base),
                dataset=row.dataset,
                reason=row.reason,
            )
        )
    reference = machine.study.reference
    return sorted(
        lines,
        key=lambda line: (
            line.framework != reference, line.framework, machine.workloads.index(line.workload),
            line.device, line.threads, -(line.ratio or 0), line.trap,
        ),
    )  # fmt: skip


ESTIMATES = (
    "replicates", "ratio", "ratio_low", "ratio_high", "p", "p_adjusted", "verdict", "detectable",
)  # fmt: skip


def timed(
    pairs: dict[BenchmarkId, BenchmarkId],
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    unsteady: dict[BenchmarkId, str],
    truths: Mapping[BenchmarkId, float] = MappingProxyType({}),
) -> Sequence[Comparison]:
    """Each seat's time against its partner's, times the true ratio where that is known;
    certificates refuse nothing here."""
    found: list[tuple[Comparison, list[float]]] = []
    for seat, base in pairs.items():
        absent = [side for side in (seat, base) if side not in measured]
        reason = "; ".join(dict.fromkeys(why(side, roster) for side in absent))
        ratios = [] if absent else pairwise_logs(measured[seat], measured[base])
        if not absent and not ratios:
            reason = "there is no replicate in which both were measured"
        known = math.log(truths.get(seat, 1.0))
        ratios = [ratio - known for ratio in ratios]
        row = blank(machine, seat, base, reason=reason)
        found.append(held_back(row, ratios, unsteady, seat, base))
    family = sum(len(ratios) > 1 for _, ratios in found)
    rows = [estimated(row, ratios, machine, family) if ratios else row for row, ratios in found]
    return judged(rows, machine.study.margin, 1 - machine.study.confidence)


def loss_differences(
    certificates: Certificates, seat: BenchmarkId, base: BenchmarkId
) -> dict[str, Any]:
    """Of the two long runs in float64; empty where there is one alone."""
    own, other = (
        certificates.found[side][1].losses if side in certificates.found else []
        for side in (seat, base)
    )
    steps = min(len(own), len(other))
    differences = [relative(a, b) for a, b in zip(own[:steps], other[:steps], strict=True)]
    at = {f"loss_{step}": differences[step - 1] if step <= steps else None for step in STEPS}
    return {"steps": steps, **at, "loss_last": differences[-1] if steps else None}


def end_losses(batches: pd.DataFrame) -> dict[BenchmarkId, float]:
    turns = batches[batches["round"] > 0].sort_values("step")
    last = turns.groupby([*BenchmarkId._fields, "replicate", "round"])["loss"].last()
    means = last.groupby(list(BenchmarkId._fields)).mean()
    return {BenchmarkId(*key): float(loss) for key, loss in means.items()}  # type: ignore[misc]


def share(difference: float) -> str:
    if difference > 1:
        return f"{100 * difference:,.0f} %"
    return percent(difference) if difference >= 1e-3 else scientific(difference)

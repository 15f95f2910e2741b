"""Each contender against the reference, in the same contests under the same conditions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.pairing import pairs
from analysis.data.processes import paired
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import Trajectories
from analysis.format import title
from analysis.stats.inference import Verdict, detectable, holm, replicates_needed, student, verdict


@dataclass(frozen=True)
class Comparison:
    """A row of comparisons.csv: `ratio` is the framework's time over the reference's, whose
    `reference_variant` is the same one wherever two frameworks have it (analysis/data/pairing.py).

    `replicates` are those in which both were measured. `p_adjusted` is Holm's over all rows
    of the machine. `detectable` is the smallest ratio minus 1 that this study could have
    seen with 80 % power, and `replicates_needed` what would see the margin so; both at alpha
    over the number of those rows, Holm's first step, the hardest.
    """

    machine: str
    workload: str
    device: str
    threads: int
    variant: str
    framework: str
    reference: str
    reference_variant: str
    replicates: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    detectable: float | None
    replicates_needed: int | None
    certificate: str
    dataset: str
    reason: str

    @property
    def seat(self) -> BenchmarkId:
        return BenchmarkId(self.workload, self.framework, self.variant, self.device, self.threads)

    @property
    def base(self) -> BenchmarkId:
        return self.seat._replace(framework=self.reference, variant=self.reference_variant)

    @property
    def against(self) -> str:
        """`PyTorch`, or `PyTorch default` where that is another variant."""
        other = f" {self.reference_variant}" * (self.reference_variant != self.variant)
        return f"{title(self.reference)}{other}"


def comparisons(
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    trajectories: Trajectories,
    unsteady: dict[BenchmarkId, str],
) -> list[Comparison]:
    """`unsteady`: contenders without a steady state, and why."""
    if machine.alone:
        return []
    certificates = Certificates(machine)
    references = {name: reference(machine, name, measured) for name in machine.workloads}
    held = []
    for seat, base in pairs(machine, roster, references).items():
        row, ratios = compare(machine, seat, base, certificates, trajectories, roster, measured)
        held.append(held_back(row, ratios, unsteady, seat, base))
    family = sum(len(ratios) > 1 for _, ratios in held)
    rows = [estimated(row, ratios, machine, family) if ratios else row for row, ratios in held]
    return judged(rows, machine.study.margin, 1 - machine.study.confidence)


def reference(machine: Machine, workload: str, measured: dict[BenchmarkId, pd.DataFrame]) -> str:
    """The study's reference framework; where it was not measured, the first one that was."""
    found = {seat.framework for seat in measured if seat.workload == workload}
    if machine.study.reference in found or not found:
        return machine.study.reference
    return min(found)


def compare(
    machine: Machine,
    seat: BenchmarkId,
    base: BenchmarkId,
    certificates: Certificates,
    trajectories: Trajectories,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
) -> tuple[Comparison, list[float]]:
    """One pair, without estimates, and the logarithms of its ratios by replicate; none where
    they cannot or may not be formed, and why."""
    permission = certificates.pair(seat, base)
    row = blank(machine, seat, base, certificate=permission.text if permission.granted else "")
    if absent := [side for side in (seat, base) if side not in measured]:
        reasons = dict.fromkeys(why(side, roster) for side in absent)
        return replace(row, reason="; ".join(reasons)), []
    refusals = [] if permission.granted else [permission.text]
    refusals += [trajectories.faults[s] for s in (seat, base) if s in trajectories.faults]
    if refusals:
        return replace(row, verdict="refused", reason="; ".join(refusals)), []
    ratios = pairwise_logs(measured[seat], measured[base])
    if not ratios:
        row = replace(row, reason="there is no replicate in which both were measured")
    return row, ratios


def held_back(
    row: Comparison, ratios: list[float], unsteady: dict[BenchmarkId, str], *sides: BenchmarkId
) -> tuple[Comparison, list[float]]:
    """Without its ratio, where a side has no one time that a ratio could be of."""
    reasons = [unsteady[side] for side in sides if side in unsteady]
    if not ratios or not reasons:
        return row, ratios
    return replace(row, verdict="no steady state", reason="; ".join(reasons)), []


def blank(
    machine: Machine, seat: BenchmarkId, base: BenchmarkId, certificate: str = "", reason: str = ""
) -> Comparison:
    """A row without estimates."""
    return Comparison(
        machine=machine.name,
        **{name: value for name, value in seat._asdict().items() if name != "threads"},
        threads=seat.threads,
        reference=base.framework,
        reference_variant=base.variant,
        replicates=0,
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        p=None,
        p_adjusted=None,
        verdict="missing",
        detectable=None,
        replicates_needed=None,
        certificate=certificate,
        dataset=machine.dataset(seat.workload),
        reason=reason,
    )


def pairwise_logs(one: pd.DataFrame, other: pd.DataFrame) -> list[float]:
    """Logarithms of the ratios of the replicates in which both were measured."""
    return paired(one, other).tolist()


def why(seat: BenchmarkId, roster: dict[BenchmarkId, Availability]) -> str:
    if seat not in roster:
        return f"{seat.contender} is not in the study"
    return roster[seat].reason


def estimated(
    blank: Comparison, ratios: Sequence[float], machine: Machine, family: int
) -> Comparison:
    """With its estimates: one row of a `family` that is corrected together."""
    study = machine.study
    estimate = student(ratios, study.confidence)
    row = replace(
        blank, verdict="cannot tell", replicates=estimate.n, ratio=math.exp(estimate.mean)
    )
    if estimate.sd is None or estimate.low is None or estimate.high is None:
        return replace(row, reason="one replicate has no interval: two at least are needed")
    alpha = (1 - study.confidence) / family
    return replace(
        row,
        ratio_low=math.exp(estimate.low),
        ratio_high=math.exp(estimate.high),
        p=estimate.p,
        detectable=detectable(estimate.sd, estimate.n, alpha),
        replicates_needed=replicates_needed(estimate.sd, study.margin, alpha),
    )


def judged(rows: Sequence[Comparison], margin: float, alpha: float) -> list[Comparison]:
    """Adjust the p-values of the family and give every row with an interval its verdict."""
    adjusted = iter(holm([row.p for row in rows if row.p is not None]))
    done = []
    for row in rows:
        if row.p is not None and row.ratio and row.ratio_low and row.ratio_high:
            p = next(adjusted)
            what = verdict(row.ratio, row.ratio_low, row.ratio_high, p, margin, alpha)
            row = replace(row, p_adjusted=p, verdict=what)
        done.append(row)
    return done

"""Compares each contender with the reference, in the same contests under the same conditions, and
all pairs of contenders that differ in one thing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.pairing import BOTH, neighbours, pairs
from analysis.data.processes import Measurements, paired
from analysis.data.results import BenchmarkId, Machine, grouped
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import LossCheck
from analysis.findings.fairness.settings import unequal
from analysis.format import title
from analysis.stats.inference import Estimate, Verdict, estimates

Pairs = Mapping[BenchmarkId, BenchmarkId]
NO_INTERVAL = "one replicate has no interval: two at least are needed"


@dataclass(frozen=True)
class ToReference:
    """A benchmark and the benchmark of the reference that it is compared with (`base`)."""

    id: BenchmarkId
    base: BenchmarkId

    @property
    def reference(self) -> str:
        return self.base.framework

    @property
    def reference_variant(self) -> str:
        return self.base.variant

    @property
    def against(self) -> str:
        """`PyTorch`, or `PyTorch default` if the reference has another variant."""
        other = f" {self.base.variant}" * (self.base.variant != self.id.variant)
        return f"{title(self.base.framework)}{other}"


@dataclass(frozen=True)
class Comparison(ToReference):
    """A row of comparisons.csv: the estimate of this benchmark's time over that of `base`, the
    same variant of the reference, or its `default` (analysis/data/pairing.py says when).

    The estimate is over the replicates in which both were measured. `p_adjusted` is corrected over
    all rows of the machine.
    """

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework reference reference_variant replicates "
        "ratio ratio_low ratio_high tost_low tost_high p p_adjusted verdict certificate dataset "
        "reason"
    )

    estimate: Estimate
    certificate: str
    reason: str


def bases(found: Measurements, check: LossCheck) -> dict[BenchmarkId, BenchmarkId]:
    """The benchmark that each benchmark is compared with."""
    machine = found.machine
    if machine.alone:
        return {}
    first = {name: reference(machine, name, found.processes) for name in machine.workloads}
    quickest = fastest(found, check) if machine.study.fastest else {}
    return pairs(
        machine,
        found.availability,
        lambda one: quickest.get(one.any_framework, first[one.workload]),
    )


def comparisons(found: Measurements, check: LossCheck, matched: Pairs) -> list[Comparison]:
    certificates = Certificates(found.machine)
    allowed = {one: permission(one, base, certificates, check) for one, base in matched.items()}
    certified = {one: text for one, (text, _) in allowed.items() if text}
    return compare(matched, found, certified, {one: why for one, (_, why) in allowed.items()})


def permission(
    one: BenchmarkId, base: BenchmarkId, certificates: Certificates, check: LossCheck
) -> tuple[str, str]:
    """A summary of both certificates, "" if they forbid the comparison; and why the pair may not
    be compared, "" if it may."""
    says = certificates.pair(one, base)
    reasons = [] if says.granted else [says.text]
    reasons += [check.faults[side] for side in (one, base) if side in check.faults]
    reasons += unequal(one, base, certificates)
    return says.text if says.granted else "", "; ".join(reasons)


def reference(machine: Machine, workload: str, measured: Mapping[BenchmarkId, pd.DataFrame]) -> str:
    """The study's reference framework, or the first measured one by name if it was not measured."""
    found = {one.framework for one in measured if one.workload == workload}
    if machine.study.reference in found or not found:
        return machine.study.reference
    return min(found)


def fastest(found: Measurements, check: LossCheck) -> dict[BenchmarkId, str]:
    """For each `any_framework` the framework with the shortest time, among the benchmarks that most
    others may be compared with.

    The time is the geometric mean of the replicates' medians, as in contenders.csv. If times are
    equal, the first name counts.
    """
    certificates = Certificates(found.machine)
    times = {
        one: float(rows["median"].map(math.log).mean())
        for one, rows in found.processes.items()
        if found.machine.compares(one)
        and one not in found.unsteady
        and not permission(one, one, certificates, check)[1]
    }
    groups = grouped((one.any_framework, one) for one in sorted(times))
    quickest = {
        place: quickest_of(own, times, certificates, check) for place, own in groups.items()
    }
    return {place: one.framework for place, one in quickest.items()}


def quickest_of(
    members: Sequence[BenchmarkId],
    times: Mapping[BenchmarkId, float],
    certificates: Certificates,
    check: LossCheck,
) -> BenchmarkId:
    """The fastest benchmark that most others may be compared with, so that a single contender with
    a setting of its own costs the others no ratio; if there is none, the fastest."""
    ordered = sorted(members, key=times.__getitem__)
    for one in ordered:
        others = [other for other in members if other != one]
        refused = sum(bool(permission(other, one, certificates, check)[1]) for other in others)
        if 2 * refused <= len(others):
            return one
    return ordered[0]


def compare(
    matched: Pairs,
    found: Measurements,
    certified: Mapping[BenchmarkId, str] = MappingProxyType({}),
    refused: Mapping[BenchmarkId, str] = MappingProxyType({}),
) -> list[Comparison]:
    """Compare pairs, whose p-values are corrected together.

    Args:
        certified: a summary of both certificates, for each pair that may be compared.
        refused: why a pair may not be compared. A pair with "" or without an entry may be.
    """
    family = {one: ratios(one, base, found, refused.get(one, "")) for one, base in matched.items()}
    study = found.machine.study
    judged = estimates([logs for logs, _, _ in family.values()], study.margin, study.confidence)
    return [
        Comparison(
            one,
            matched[one],
            estimate if logs else Estimate(verdict=verdict),
            certified.get(one, ""),
            reason,
        )
        for (one, (logs, verdict, reason)), estimate in zip(family.items(), judged, strict=True)
    ]


def ratios(
    one: BenchmarkId, base: BenchmarkId, found: Measurements, refused: str = ""
) -> tuple[list[float], Verdict, str]:
    """Logarithms of a pair's ratios by replicate; the verdict that replaces the estimate if there
    are none; and the reason for that or for a missing interval."""
    if absent := [side for side in (one, base) if side not in found.processes]:
        reasons = dict.fromkeys(why(side, found.availability) for side in absent)
        return [], "missing", "; ".join(reasons)
    if refused:
        return [], "refused", refused
    logs = paired(found.processes[one], found.processes[base]).tolist()
    if not logs:
        return [], "missing", "there is no replicate in which both were measured"
    if unsteady := [found.unsteady[side] for side in (one, base) if side in found.unsteady]:
        return [], "no steady state", "; ".join(unsteady)
    return logs, "cannot tell", NO_INTERVAL if len(logs) == 1 else ""


def why(benchmark: BenchmarkId, availability: Mapping[BenchmarkId, Availability]) -> str:
    if benchmark not in availability:
        return f"{benchmark.contender} is not in the study"
    return availability[benchmark].reason


@dataclass(frozen=True)
class PairLine:
    """A row of pairs.csv: the estimate of this benchmark's time over that of `base`, which differs
    from it in `axis` only and has the value `against` there; `contender` is framework and variant.

    The base has the first value in the order of the report: variant default, the fewest threads,
    the processor, the study's reference framework, the first workload of the configuration.
    `certificate` and `reason` are as in comparisons.csv.
    """

    COLUMNS: ClassVar = (
        "machine axis workload device threads variant framework against replicates ratio "
        "ratio_low ratio_high p verdict certificate dataset reason"
    )

    id: BenchmarkId
    base: BenchmarkId
    axis: str
    estimate: Estimate
    certificate: str
    reason: str

    @property
    def against(self) -> str | int:
        if self.axis == BOTH:
            return f"{self.base.framework}/{self.base.variant}"
        value: str | int = getattr(self.base, self.axis)
        return value


def pair_lines(found: Measurements, check: LossCheck) -> list[PairLine]:
    """The pairs whose sides were both measured, axis by axis."""
    machine, study = found.machine, found.machine.study
    if machine.alone:
        return []
    matched = list(neighbours(machine, [one for one in found.processes if machine.compares(one)]))
    certificates = Certificates(machine)
    allowed = [permission(one, base, certificates, check) for _, one, base in matched]
    logs = [
        ratios(one, base, found, refused)
        for (_, one, base), (_, refused) in zip(matched, allowed, strict=True)
    ]
    judged = estimates([own for own, _, _ in logs], study.margin, study.confidence)
    return [
        PairLine(one, base, axis, estimate if own else Estimate(verdict=verdict), certified, reason)
        for (axis, one, base), (certified, _), (own, verdict, reason), estimate in zip(
            matched, allowed, logs, judged, strict=True
        )
    ]

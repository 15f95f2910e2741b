"""Each contender against the reference, in the same contests under the same conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.pairing import pairs
from analysis.data.processes import Measurements, paired
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import LossCheck
from analysis.format import title
from analysis.stats.inference import Estimate, Verdict, estimates

Pairs = Mapping[BenchmarkId, BenchmarkId]
NO_INTERVAL = "one replicate has no interval: two at least are needed"


@dataclass(frozen=True)
class Comparison:
    """A row of comparisons.csv: the estimate of this benchmark's time over that of `base`, the
    same variant of the reference if two frameworks have it (analysis/data/pairing.py).

    The estimate is over the replicates in which both were measured. `p_adjusted` is corrected over
    all rows of the machine.
    """

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework reference reference_variant replicates "
        "ratio ratio_low ratio_high tost_low tost_high p p_adjusted verdict certificate dataset "
        "reason"
    )

    id: BenchmarkId
    base: BenchmarkId
    estimate: Estimate
    certificate: str
    reason: str

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


def comparisons(found: Measurements, check: LossCheck) -> list[Comparison]:
    machine = found.machine
    if machine.alone:
        return []
    references = {name: reference(machine, name, found.processes) for name in machine.workloads}
    matched = pairs(machine, found.availability, references)
    certificates = Certificates(machine)
    permissions = {one: certificates.pair(one, base) for one, base in matched.items()}
    certified = {one: says.text for one, says in permissions.items() if says.granted}
    refused = {}
    for one, base in matched.items():
        reasons = [] if one in certified else [permissions[one].text]
        reasons += [check.faults[side] for side in (one, base) if side in check.faults]
        refused[one] = "; ".join(reasons)
    return compare(matched, found, certified, refused)


def reference(machine: Machine, workload: str, measured: Mapping[BenchmarkId, pd.DataFrame]) -> str:
    """The study's reference framework; the first measured one if the reference was not measured."""
    found = {one.framework for one in measured if one.workload == workload}
    if machine.study.reference in found or not found:
        return machine.study.reference
    return min(found)


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
    """Logarithms of a pair's ratios by replicate. If there are none, the verdict that replaces
    the estimate, and the reason. A single replicate has a reason, too."""
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

"""How long each contender takes, and how many times as long as the fastest of its column, which has
the same workload, device and number of threads."""

import math
from dataclasses import dataclass
from typing import ClassVar

from analysis.data.processes import Measurements, logs
from analysis.data.results import BenchmarkId, Column, grouped
from analysis.findings.comparisons import permission, quickest_of, ratios
from analysis.findings.fairness.certificates import Certificates, declares
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import Estimate, estimates


@dataclass(frozen=True)
class MatrixLine:
    """A row of matrix.csv. `ms` is the geometric mean of the replicates' medians. The estimate is
    of the time over that of `base`, the fastest of the column that most others may be compared
    with. It is taken within rounds, so `ratio` need not be the quotient of both `ms`. `declared`:
    its certificate declares a deviation."""

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework ms fastest replicates ratio ratio_low "
        "ratio_high verdict declared dataset reason"
    )

    id: BenchmarkId
    base: BenchmarkId | None
    ms: float | None
    estimate: Estimate
    declared: bool
    reason: str

    @property
    def fastest(self) -> str:
        return self.base.contender if self.base else ""

    @property
    def first(self) -> bool:
        """Whether it is the fastest, or compares with it as `cannot tell` or `equivalent`."""
        tied = self.estimate.verdict in ("cannot tell", "equivalent")
        return self.id == self.base or (tied and self.estimate.ratio is not None)

    @property
    def column(self) -> Column:
        return self.id.column


def matrix_lines(found: Measurements, check: LossCheck) -> list[MatrixLine]:
    """All contenders that are compared across frameworks, measured or not."""
    machine = found.machine
    members = [one for one in found.availability if machine.compares(one)]
    certificates = Certificates(machine)
    alone = {one: permission(one, one, certificates, check) for one in members}
    times = {
        one: math.exp(float(logs(found.processes[one]).mean()))
        for one in members
        if one in found.processes
    }
    sound = [one for one in times if one not in found.unsteady and not alone[one][1]]
    groups = grouped((one.column, one) for one in sound)
    bases = {at: quickest_of(own, times, certificates, check) for at, own in groups.items()}
    pairs = [(one, bases.get(one.column)) for one in members]
    own = [
        ratios(one, base, found, permission(one, base, certificates, check)[1])
        if base and base != one
        else ([], "missing", "" if base else found.availability[one].reason or alone[one][1])
        for one, base in pairs
    ]
    study = machine.study
    judged = estimates([values for values, _, _ in own], study.margin, study.confidence)
    return [
        MatrixLine(
            one, base, times.get(one),
            estimate if values else Estimate(),
            declares(alone[one][0]),
            reason or found.unsteady.get(one, ""),
        )
        for (one, base), (values, _, reason), estimate in zip(pairs, own, judged, strict=True)
    ]  # fmt: skip

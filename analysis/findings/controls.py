"""Controls: the measured ratio of each to its contender, compared with the known true ratio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from analysis.data.processes import Measurements
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison, compare
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import Estimate

Outcome = Literal["right", "wrong", "not resolved", "not judged", "measured"]
DIFFERENT = ("faster", "slower")


@dataclass(frozen=True)
class ControlLine:
    """A row of controls.csv: the estimate of the control's time over the time of the
    variant `against`, and the true ratio, `truth`.

    A twin is compared with its contender, the variant `of`. So is the control that only pauses;
    its true ratio is unknown, because it measures the cost of pauses. Slowed controls are compared
    with the pausing one: they busy-wait for as long, but partly inside the timed region.

    `p` is two-sided, for the ratio being the truth; `p_adjusted` is Holm's over all controls of
    the machine. `verdict` compares a control with its contender.

    A control is `wrong` if the study's own rule detects a difference from the truth after Holm's
    correction, or calls a slowed control faster. A slowed control that is not called slower is
    `not resolved`.
    """

    COLUMNS: ClassVar = (
        "machine workload framework variant of against device threads spin replicates truth ratio "
        "ratio_low ratio_high p p_adjusted verdict outcome dataset reason"
    )

    id: BenchmarkId
    of: str
    against: str
    spin: float
    truth: float | None
    estimate: Estimate
    outcome: Outcome
    reason: str

    @property
    def error(self) -> float:
        """How far the ratio is from the truth, in either direction: 0.05 for 1.05 and for 1 /
        1.05."""
        ratio = self.estimate.ratio
        return math.expm1(abs(math.log(ratio / self.truth))) if ratio and self.truth else 0

    @property
    def furthest(self) -> float:
        """How far the more distant end of the interval is from the truth."""
        _, low, high = self.estimate.ends
        if not (low and high and self.truth):
            return self.error
        return max(high / self.truth, self.truth / low) - 1


def control_lines(found: Measurements, check: LossCheck) -> list[ControlLine]:
    machine = found.machine
    controls = {one: control for one in found.availability if (control := machine.control(one))}
    originals = {one: one._replace(variant=control.of) for one, control in controls.items()}
    pausing = {originals[one]: one for one, c in controls.items() if c.pause and not c.spin}
    slowed = {one: originals[one] for one, control in controls.items() if control.spin}
    judging = {
        one: pausing.get(base, base) if one in slowed else base
        for one, base in originals.items()
        if one not in pausing.values()
    }
    truths = {one: 1 + controls[one].spin for one in judging}
    errors = by_id(compare(judging, found, truths=truths))
    seen = by_id(compare(slowed, found))
    costs = by_id(compare({one: base for base, one in pausing.items()}, found))
    lines = []
    for one, control in controls.items():
        row, truth = errors.get(one) or costs[one], truths.get(one)
        against_own = seen.get(one, row).estimate
        ill = check.faults.get(originals[one], "")  # in that case nothing can be compared with it
        fault = "" if ill else check.faults.get(one, "")
        outcome: Outcome = "wrong" if fault else "not judged" if ill else "measured"
        if one in judging and not fault and not ill:
            alpha = 1 - machine.study.confidence
            outcome = judged(row.estimate, against_own, control.spin, alpha)
        lines.append(
            ControlLine(
                one,
                of=control.of,
                against=judging.get(one, originals[one]).variant,
                spin=control.spin,
                truth=truth,
                estimate=scaled(row.estimate, truth, against_own),
                outcome=outcome,
                reason=fault or ill or row.reason,
            )
        )
    return lines


def by_id(rows: Sequence[Comparison]) -> dict[BenchmarkId, Comparison]:
    return {row.id: row for row in rows}


def scaled(error: Estimate, truth: float | None, against_own: Estimate) -> Estimate:
    """Turn the estimate of ratio / truth into an estimate of the ratio. Without a known truth, p
    is dropped."""
    ratio, low, high = (None if end is None else end * (truth or 1.0) for end in error.ends)
    return Estimate(
        error.replicates,
        ratio,
        low,
        high,
        p=error.p if truth else None,
        p_adjusted=error.p_adjusted if truth else None,
        verdict=against_own.verdict,
    )


def judged(error: Estimate, against_own: Estimate, spin: float, alpha: float) -> Outcome:
    """`error` is about the ratio over the truth; `against_own` compares with the control's own
    contender."""
    if error.p is None:
        return "not judged"
    differs = error.verdict in DIFFERENT and (error.p_adjusted or 0.0) < alpha
    if differs or (spin and against_own.verdict == "faster"):
        return "wrong"
    return "not resolved" if spin and against_own.verdict != "slower" else "right"


def of_outcome(rows: Sequence[ControlLine], outcome: Outcome) -> list[ControlLine]:
    return [row for row in rows if row.outcome == outcome]

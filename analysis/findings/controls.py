"""Controls: each against what it is a control of, and whether it came out as what it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from analysis.data.availability import Availability
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.loss_check import Trajectories
from analysis.findings.pitfalls import timed
from analysis.stats.inference import Verdict

Outcome = Literal["right", "wrong", "not resolved", "not judged", "measured"]
DIFFERENT = ("faster", "slower")


@dataclass(frozen=True)
class ControlLine:
    """A row of controls.csv: `ratio` is the control's time over that of the variant `against`,
    `truth` what it should be. A twin is held against the contender `of` which it is one; so is
    the one that only pauses, for which nobody knows the truth: its ratio says what pauses cost.
    Slowed ones are held against that one, as they spin for as long, but partly on the clock.

    `p` is two-sided, that the ratio is the truth; `p_adjusted` Holm's over all controls of the
    machine. `verdict` is what the study says of a control and the contender it is of, and
    `detectable` as in comparisons.csv, both corrected over the slowed ones.

    A control is `wrong` where the study's own rule tells it from the truth, or calls a slowed
    one faster. A slowed one that is not told from its contender is `not resolved`.
    """

    machine: str
    workload: str
    framework: str
    variant: str
    of: str
    against: str
    device: str
    threads: int
    spin: float
    replicates: int
    truth: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    detectable: float | None
    outcome: Outcome
    dataset: str
    reason: str

    @property
    def error(self) -> float:
        """How far the ratio is from the truth, either way: 0.05 for 1.05 and for 1 / 1.05."""
        return (
            math.expm1(abs(math.log(self.ratio / self.truth))) if self.ratio and self.truth else 0
        )

    @property
    def furthest(self) -> float:
        """The same of the end of its interval that is further off."""
        if not (self.ratio_low and self.ratio_high and self.truth):
            return self.error
        return max(self.ratio_high / self.truth, self.truth / self.ratio_low) - 1


def control_lines(
    machine: Machine,
    roster: dict[BenchmarkId, Availability],
    measured: dict[BenchmarkId, pd.DataFrame],
    trajectories: Trajectories,
    unsteady: dict[BenchmarkId, str],
) -> list[ControlLine]:
    controls = {seat: control for seat in roster if (control := machine.control(seat))}
    originals = {seat: seat._replace(variant=control.of) for seat, control in controls.items()}
    pausing = {originals[seat]: seat for seat, c in controls.items() if c.pause and not c.spin}
    slowed = {seat: originals[seat] for seat, control in controls.items() if control.spin}
    judging = {
        seat: pausing.get(base, base) if seat in slowed else base
        for seat, base in originals.items()
        if seat not in pausing.values()
    }
    truths = {seat: 1 + controls[seat].spin for seat in judging}

    def told(
        pairs: dict[BenchmarkId, BenchmarkId], truths: dict[BenchmarkId, float]
    ) -> dict[BenchmarkId, Comparison]:
        rows = timed(pairs, machine, roster, measured, unsteady, truths)
        return dict(zip(pairs, rows, strict=True))

    errors, seen = told(judging, truths), told(slowed, {})
    costs = told({seat: base for base, seat in pausing.items()}, {})
    lines = []
    for seat, control in controls.items():
        error = errors.get(seat) or costs[seat]
        as_told = seen.get(seat, error)
        ill = trajectories.faults.get(originals[seat], "")  # with nothing to hold it against
        fault = "" if ill else trajectories.faults.get(seat, "")
        outcome: Outcome = "measured"
        if seat in judging or fault or ill:
            outcome = judged(error, as_told, control.spin)
            outcome = "wrong" if fault else "not judged" if ill else outcome
        truth = truths.get(seat)
        lines.append(
            ControlLine(
                machine=machine.name,
                **seat._asdict(),
                of=control.of,
                against=judging.get(seat, originals[seat]).variant,
                spin=control.spin,
                replicates=error.replicates,
                truth=truth,
                ratio=scaled(error.ratio, truth or 1.0),
                ratio_low=scaled(error.ratio_low, truth or 1.0),
                ratio_high=scaled(error.ratio_high, truth or 1.0),
                p=error.p if truth else None,
                p_adjusted=error.p_adjusted if truth else None,
                verdict=as_told.verdict,
                detectable=as_told.detectable,
                outcome=outcome,
                dataset=error.dataset,
                reason=fault or ill or error.reason,
            )
        )
    return lines


def scaled(ratio: float | None, truth: float) -> float | None:
    return None if ratio is None else ratio * truth


def judged(error: Comparison, told: Comparison, spin: float) -> Outcome:
    """`error` is about the ratio over the truth, `told` about the ratio."""
    if error.p is None:
        return "not judged"
    if error.verdict in DIFFERENT or (spin and told.verdict == "faster"):
        return "wrong"
    return "not resolved" if spin and told.verdict != "slower" else "right"


def of_outcome(rows: Sequence[ControlLine], outcome: Outcome) -> list[ControlLine]:
    return [row for row in rows if row.outcome == outcome]

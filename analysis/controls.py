"""Controls: each against what it is a control of, and whether it came out as what it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from analysis.comparisons import Comparison
from analysis.roster import Attendance
from analysis.statistics import Verdict
from analysis.study import Machine, Seat
from analysis.trajectories import Trajectories
from analysis.traps import timed

Outcome = Literal["right", "wrong", "not resolved", "not judged"]
DIFFERENT = ("faster", "slower")


@dataclass(frozen=True)
class ControlLine:
    """A row of controls.csv: `ratio` is the control's time over that of the contender `of`
    which it is one, `truth` what it should be.

    `p` is two-sided, that the ratio is the truth; `p_adjusted` Holm's over all controls of the
    machine. `verdict` is what the study says of the pair, and `detectable` as in
    comparisons.csv, both corrected over the slowed ones.

    A control is `wrong` where the study's own rule tells it from the truth, or calls a slowed
    one faster. A slowed one that is not told from its contender is `not resolved`.
    """

    machine: str
    workload: str
    framework: str
    variant: str
    of: str
    device: str
    threads: int
    spin: float
    replicates: int
    truth: float
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
        return math.expm1(abs(math.log(self.ratio / self.truth))) if self.ratio else 0.0


def control_lines(
    machine: Machine,
    roster: dict[Seat, Attendance],
    measured: dict[Seat, pd.DataFrame],
    trajectories: Trajectories,
    unsteady: dict[Seat, str],
) -> list[ControlLine]:
    controls = {seat: control for seat in roster if (control := machine.control(seat))}
    if not controls:
        return []
    pairs = {seat: seat._replace(variant=control.of) for seat, control in controls.items()}
    truths = {seat: 1 + control.spin for seat, control in controls.items()}
    slowed = {seat: base for seat, base in pairs.items() if controls[seat].spin}
    errors = timed(pairs, machine, roster, measured, unsteady, truths)
    told = timed(slowed, machine, roster, measured, unsteady)
    seen = dict(zip(slowed, told, strict=True))
    lines = []
    for (seat, control), error in zip(controls.items(), errors, strict=True):
        as_told = seen.get(seat, error)
        fault = trajectories.faults.get(seat, "")
        lines.append(
            ControlLine(
                machine=machine.name,
                **seat._asdict(),
                of=control.of,
                spin=control.spin,
                replicates=error.replicates,
                truth=truths[seat],
                ratio=scaled(error.ratio, truths[seat]),
                ratio_low=scaled(error.ratio_low, truths[seat]),
                ratio_high=scaled(error.ratio_high, truths[seat]),
                p=error.p,
                p_adjusted=error.p_adjusted,
                verdict=as_told.verdict,
                detectable=as_told.detectable,
                outcome="wrong" if fault else judged(error, as_told, control.spin),
                dataset=error.dataset,
                reason=fault or error.reason,
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

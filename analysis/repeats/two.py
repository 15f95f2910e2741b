"""Two studies side by side: which ratios moved further than the first study predicts.

The second study's ratio is expected in a prediction interval around the first one's. Its width
follows from both intervals, if both studies have the same true ratio. If repeats of the first study
are given, their series predicts instead, because it knows how far ratios move from day to day.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.data.occasions import occasion
from analysis.data.results import BenchmarkId, Machine
from analysis.data.series import check_series, contests, datasets, workloads
from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.certificates import declares
from analysis.findings.findings import Findings
from analysis.findings.machine import flattened, spoken
from analysis.findings.speed.movement import Movement, movement, movements
from analysis.format import listing
from analysis.repeats.series import NumberedStudy, Pair
from analysis.stats.inference import SAME, Estimate
from analysis.stats.series import same_truth
from workflows.records.storage import RecordError

Ends = tuple[float, float]


@dataclass(frozen=True)
class MovedRatio:
    """One ratio in both studies; `expected` is the prediction interval of the second, None without
    one. `declared`: a difference between the two sides is declared."""

    moved: Movement
    before: Estimate
    after: Estimate
    expected: Ends | None
    declared: bool

    @property
    def id(self) -> BenchmarkId:
        return self.moved.id

    @property
    def change(self) -> float:
        """The second ratio over the first, minus 1."""
        assert self.before.ratio and self.after.ratio
        return self.after.ratio / self.before.ratio - 1

    @property
    def beyond(self) -> bool | None:
        if self.expected is None or not self.after.ratio:
            return None
        low, high = self.expected
        return not low * (1 - SAME) <= self.after.ratio <= high * (1 + SAME)


@dataclass(frozen=True)
class NotCompared:
    """A pair that has a ratio in a study but is not compared, and why."""

    id: BenchmarkId
    base: BenchmarkId
    reason: str


@dataclass(frozen=True)
class Two:
    """Both studies. `series`: the number of studies that predict, 1 without repeats."""

    first: NumberedStudy
    second: NumberedStudy
    rows: list[MovedRatio]
    apart: list[NotCompared]
    series: int = 1

    @property
    def judged(self) -> list[MovedRatio]:
        return [row for row in self.rows if row.beyond is not None]

    @property
    def beyond(self) -> list[MovedRatio]:
        return [row for row in self.rows if row.beyond]

    @property
    def confidence(self) -> float:
        return self.first.machine.study.confidence


def side_by_side(one: Machine, other: Machine, earlier: Sequence[Machine] = ()) -> Two:
    """Compare two studies; `earlier` are repeats of the first one.

    Raises:
        RecordError: both are the same study, or `earlier` are not repeats of the first.
    """
    for study in (one, *earlier):
        if shared := sorted(contests(study) & contests(other)):
            workload, replicate, when = shared[0]
            raise RecordError(
                f"contest {replicate} of {workload}, which started {when}, is in both studies: "
                "name two studies that were measured at different times"
            )
    check_series([one, *earlier])
    first, second = (
        NumberedStudy(n, Findings(m), occasion(m)) for n, m in enumerate((one, other), 1)
    )
    predicted = predictions([*map(Findings, earlier), first.findings]) if earlier else None
    unlike = unlike_workloads(one, other)
    rows, apart = [], []
    mine, theirs = every_pair(first.findings), every_pair(second.findings)
    for before in first.findings.comparisons:
        after = theirs.get((before.id, before.base))
        reason = unlike.get(before.id.workload, "") or without_ratio(before, after)
        if not reason and after:
            rows.append(row(first, second, before, after, predicted))
        elif has_ratio(before) or has_ratio(after):
            apart.append(NotCompared(before.id, before.base, reason))
    for after in second.findings.comparisons:
        if has_ratio(after) and (after.id, after.base) not in mine:
            reason = unlike.get(after.id.workload, "") or "only in B"
            apart.append(NotCompared(after.id, after.base, reason))
    return Two(first, second, rows, apart, len(earlier) + 1)


def every_pair(findings: Findings) -> dict[Pair, Comparison]:
    """The comparisons with the reference and all other pairs of frameworks, in both directions,
    because the other study may have another reference."""
    lines = [
        Comparison(line.id, line.base, line.estimate, line.certificate, line.reason)
        for line in findings.pairs
        if line.axis == "framework"
    ]
    found: dict[Pair, Comparison] = {}
    for one in [*findings.comparisons, *lines]:
        found.setdefault((one.id, one.base), one)
    for one in list(found.values()):
        turned = Comparison(one.base, one.id, one.estimate.inverse, one.certificate, one.reason)
        found.setdefault((one.base, one.id), turned)
    return found


def has_ratio(row: Comparison | None) -> bool:
    return bool(row and row.estimate.ratio)


def without_ratio(before: Comparison, after: Comparison | None) -> str:
    """Why a pair has no ratio in one of the studies, "" if it has one in both."""
    if after is None:
        return "only in A"
    reasons = [
        f"{side}: {row.reason or row.estimate.verdict}"
        for side, row in (("A", before), ("B", after))
        if not has_ratio(row)
    ]
    return "; ".join(reasons)


def row(
    first: NumberedStudy,
    second: NumberedStudy,
    before: Comparison,
    after: Comparison,
    predicted: Mapping[Pair, Ends] | None,
) -> MovedRatio:
    study = first.machine.study
    moved = movement(
        before.id, before.base, [before.estimate, after.estimate],
        [first.occasion, second.occasion], study.margin, study.confidence,
    )  # fmt: skip
    if predicted is None:
        expected = from_intervals(
            before.estimate, after.estimate, study.confidence, second.machine.study.confidence
        )
    else:
        expected = predicted.get((before.id, before.base))
    declared = declares(before.certificate) or declares(after.certificate)
    return MovedRatio(moved, before.estimate, after.estimate, expected, declared)


def from_intervals(
    before: Estimate, after: Estimate, confidence: float, of_other: float
) -> Ends | None:
    """The prediction interval of the second ratio, from the first ratio and both intervals."""
    errors = before.standard_error(confidence), after.standard_error(of_other)
    if before.ratio is None or errors[0] is None or errors[1] is None:
        return None
    counted = before.replicates, after.replicates
    low, high = same_truth(math.log(before.ratio), (errors[0], errors[1]), counted, confidence)
    return math.exp(low), math.exp(high)


def predictions(series: Sequence[Findings]) -> dict[Pair, Ends]:
    """The series' prediction interval of each ratio for another occasion, or for another study if
    there are too few occasions."""
    found = {}
    for moved in movements(series):
        for low, high in (
            (moved.next_occasion_low, moved.next_occasion_high),
            (moved.next_study_low, moved.next_study_high),
        ):
            if low is not None and high is not None:
                found[moved.id, moved.base] = (low, high)
                break
    return found


def unlike_workloads(one: Machine, other: Machine) -> dict[str, str]:
    """Workloads of the same name that differ, and how. The number of samples may differ, because
    the time of a step does not depend on it."""
    found = {}
    for name in workloads(one).keys() & workloads(other).keys():
        if differ := list(differences(workloads(one)[name], workloads(other)[name])):
            found[name] = f"not the same workload: {listing(differ)}"
        kinds = datasets(one).get(name), datasets(other).get(name)
        if all(kinds) and len(set(kinds)) > 1:
            found[name] = f"not the same data: {kinds[0]} in A, {kinds[1]} in B"
    return found


def differences(mine: object, theirs: object) -> Iterator[str]:
    before, after = dict(flattened(mine)), dict(flattened(theirs))
    for key in dict.fromkeys([*before, *after]):
        if key != "dataset.samples" and before.get(key) != after.get(key):
            sides = [spoken(side[key]) if key in side else "none" for side in (before, after)]
            yield f"{key} is {sides[0]} in A and {sides[1]} in B"

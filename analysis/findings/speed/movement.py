"""How far each ratio moves between studies of one machine, and whether verdicts last."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from analysis.data.occasions import Occasion, occasion, span
from analysis.data.results import BenchmarkId, grouped
from analysis.findings.comparisons import Comparison, ToReference
from analysis.findings.fairness.settings import effective
from analysis.findings.findings import Findings, Table, added
from analysis.format import count
from analysis.stats.inference import Estimate, of_equivalence, student, verdict
from analysis.stats.intervals import Interval
from analysis.stats.series import prediction

LAYERS = ("layout", "max_pooling")  # how an adapter computes the same layers
OCCASIONS = 3  # fewer say nothing about the next, and two studies little about their mean


@dataclass(frozen=True)
class Movement(ToReference):
    """A row of movement.csv: one comparison in several studies of one machine.

    `estimates` has each study's, in the order of time, None if it has no ratio. `ratio` is the
    geometric mean over studies with Student's interval, `next_study` the prediction interval of
    another study, and `next_occasion` that of the mean of another occasion. Studies of one occasion
    are averaged first, because they are not independent. With fewer than three studies or
    occasions, there is no interval. `crossed`: ratios are on both sides of 1. `contradicted`: one
    study says faster and another slower. `lasting` is the verdict of the series.
    """

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework reference reference_variant studies "
        "occasions lowest highest ratio ratio_low ratio_high next_study_low next_study_high "
        "next_occasion_low next_occasion_high crossed contradicted lasting"
    )

    estimates: Sequence[Estimate | None]
    studies: int
    occasions: int
    lowest: float
    highest: float
    ratio: Annotated[Interval, "ratio ratio_low ratio_high"]
    next_study_low: float | None
    next_study_high: float | None
    next_occasion_low: float | None
    next_occasion_high: float | None
    crossed: bool
    contradicted: bool
    lasting: str

    @property
    def spread(self) -> float:
        """The largest ratio over the smallest, minus 1."""
        return self.highest / self.lowest - 1

    @property
    def reach(self) -> float | None:
        """How far, as a ratio minus 1, the prediction for another occasion reaches either way."""
        if self.next_occasion_low is None or self.next_occasion_high is None:
            return None
        return math.sqrt(self.next_occasion_high / self.next_occasion_low) - 1


def movements(series: Sequence[Findings]) -> list[Movement]:
    """Every comparison that has a ratio in two studies or more, by workload; `series` is in order
    of time. A study is left out of a comparison if its adapters computed the layers in another way
    than in the newest one."""
    found = [{(row.id, row.base): row for row in one.comparisons} for one in series]
    occasions = [occasion(one.machine) for one in series]
    study = series[-1].machine.study
    rows = []
    for key in dict.fromkeys(key for own in found for key in own):
        *_, newest = (one for one, own in zip(series, found, strict=True) if key in own)
        own = [
            estimate(rows_of.get(key)) if same_layers(one, newest, key) else None
            for one, rows_of in zip(series, found, strict=True)
        ]
        if sum(one is not None for one in own) > 1:
            rows.append(movement(*key, own, occasions, study.margin, study.confidence))
    return sorted(rows, key=lambda row: row.id.workload)


def same_layers(one: Findings, other: Findings, benchmarks: Iterable[BenchmarkId]) -> bool:
    """Whether no setting that says how layers are computed is known of both and differs."""
    for benchmark in benchmarks:
        own, others = (effective(findings.machine, benchmark) for findings in (one, other))
        if any(own[name] != others[name] for name in LAYERS if name in own and name in others):
            return False
    return True


def estimate(row: Comparison | None) -> Estimate | None:
    return row.estimate if row and row.estimate.ratio else None


def movement(
    one: BenchmarkId,
    base: BenchmarkId,
    estimates: Sequence[Estimate | None],
    occasions: Sequence[Occasion],
    margin: float,
    confidence: float,
) -> Movement:
    measured = [(e, o) for e, o in zip(estimates, occasions, strict=True) if e and e.ratio]
    logs = [math.log(e.ratio) for e, _ in measured if e.ratio]
    by_occasion = grouped((where, log) for log, (_, where) in zip(logs, measured, strict=True))
    means = [sum(own) / len(own) for own in by_occasion.values()]
    mean, several = student(logs, confidence), len(logs) >= OCCASIONS
    verdicts = {e.verdict for e, _ in measured}
    next_study = ratios(prediction(logs, confidence)) if several else EMPTY
    next_occasion = ratios(prediction(means, confidence)) if len(means) >= OCCASIONS else EMPTY
    ratio = mean.interval.through(math.exp)
    return Movement(
        one, base, estimates, len(logs), len(means), math.exp(min(logs)), math.exp(max(logs)),
        ratio if several else Interval(ratio.value), next_study[0], next_study[1], next_occasion[0],
        next_occasion[1],
        crossed=min(logs) < 0 < max(logs),
        contradicted={"faster", "slower"} <= verdicts,
        lasting=lasting(means, margin, confidence),
    )  # fmt: skip


EMPTY = (None, None)


def ratios(ends: tuple[float, float] | None) -> tuple[float, float] | tuple[None, None]:
    return EMPTY if ends is None else exponentials(ends)


def exponentials(ends: tuple[float, float]) -> tuple[float, float]:
    return math.exp(ends[0]), math.exp(ends[1])


def lasting(means: Sequence[float], margin: float, confidence: float) -> str:
    """The verdict of a series, from the mean log-ratio of each occasion. The rule is that of a
    study, on the interval in which another occasion's mean is expected."""
    if len(means) < OCCASIONS:
        return f"not yet ({count(len(means), 'occasion')})"
    interval = prediction(means, confidence)
    narrow = prediction(means, of_equivalence(confidence))
    assert interval and narrow  # there are enough
    found = verdict(exponentials(interval), exponentials(narrow), margin)
    return found if found == "cannot tell" else f"lasting {found}"


def of_report(findings: Findings) -> list[Movement]:
    """The rows of a report that was given other studies of its machine."""
    if not findings.machine.others:
        return []
    series = [findings, *map(Findings, findings.machine.others)]
    return movements(sorted(series, key=lambda one: span(one.machine)))


MOVEMENT = added("movement", Table(Movement, of_report, optional=True))

"""Simulated studies judged by the report's code, and what is demanded of the outcome."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.simulation.drawing import Deal
from benchmarks.simulation.judging import ALPHA, MARGIN, Bools, Floats, concluded, judge
from benchmarks.simulation.naive import false_positives
from benchmarks.simulation.noise import Noise
from benchmarks.simulation.rates import Rate, joined
from benchmarks.simulation.scenarios import MIDDLING, NO_DIFFERENCE, QUIET, SCENARIOS, Scenario
from benchmarks.simulation.searched import Searched, searched
from benchmarks.simulation.staged import MOST, RULES, Staged, staged
from benchmarks.simulation.studies import studies

FITTED = "fitted"
JUST_OUTSIDE = 1 + MARGIN + 0.001
DIFFERENCES = (1.03, 1.05, 1.10)  # of which the power is told
STAGES = (3, 5, 8)
FEWER = 5  # staged studies have many replicates, so fewer of them are drawn
FEWEST = 10  # searching takes longest
STEADY, LATE = "all steady", 0.3

Report = Callable[[float, str], None]


@dataclass(frozen=True)
class Outcome:
    """One scenario at one number of replicates. Rates are of rows, `familywise` of studies.

    `false` is a p-value below alpha before any correction, `familywise` at least one in a study
    after Holm's, `wrong` a verdict of faster or slower. None where there is a difference.
    """

    scenario: str
    replicates: int
    coverage: Rate
    by_ratio: dict[float, Rate]
    half_width: float  # median, as a ratio minus 1
    false: Rate | None = None
    wrong: Rate | None = None
    familywise: Rate | None = None
    outside: Rate | None = None  # called equivalent where the truth is just outside the margin
    power: dict[float, Rate] = field(default_factory=dict)


@dataclass(frozen=True)
class Validation:
    studies: int
    outcomes: list[Outcome]
    naive: dict[str, Rate]
    staged: dict[str, list[Staged]]
    searched: dict[str, Searched]


def validate(
    fits: Sequence[Noise], count: int, replicates: Sequence[int], report: Report
) -> Validation:
    """`count` studies of every scenario, and a few more; `report` hears how far it is."""
    outcomes = scenarios(fits, count, replicates, report)
    report(len(SCENARIOS), "naive methods")
    naive = false_positives(count)
    report(len(SCENARIOS) + 1, "two stages")
    grown = {}
    for scenario in (SCENARIOS[FITTED], MIDDLING, QUIET):
        portions = list(studies(scenario, fits, Deal(), -(-count // FEWER), MOST))
        grown[scenario.what] = [staged(portions, r, first) for r in RULES for first in STAGES]
    few = -(-count // FEWEST)
    search = {}
    for number, (name, late) in enumerate(((STEADY, 0.0), ("one side late", LATE))):

        def told(done: int, number: int = number) -> None:
            steps = len(SCENARIOS) + 2 + number + done / few
            report(steps, f"steady state, {done:,} of {few:,} studies")

        search[name] = searched(fits, few, told, late)
    return Validation(count, outcomes, naive, grown, search)


def scenarios(
    fits: Sequence[Noise],
    count: int,
    replicates: Sequence[int],
    report: Report = lambda done, text: None,
) -> list[Outcome]:
    """Fewer replicates are the first ones of the same studies, as in a study that grows."""
    outcomes = []
    for number, scenario in enumerate(SCENARIOS.values()):
        told = watched(scenario, fits, count, max(replicates), number, report)
        outcomes += judged(scenario, told, replicates)
    return outcomes


def steps() -> int:
    """How far `report` counts."""
    return len(SCENARIOS) + 4


def watched(
    scenario: Scenario, fits: Sequence[Noise], count: int, most: int, number: int, report: Report
) -> Iterator[tuple[Floats, Floats]]:
    done = 0
    for ratios, truth in studies(scenario, fits, Deal(), count, most):
        report(number + done / count, f"{scenario.name}, {done:,} of {count:,} studies")
        yield ratios, truth
        done += len(ratios)


def judged(
    scenario: Scenario, portions: Iterator[tuple[Floats, Floats]], replicates: Sequence[int]
) -> list[Outcome]:
    tallies = {n: Tally(scenario) for n in replicates}
    for ratios, truth in portions:
        for n, tally in tallies.items():
            tally.add(ratios[:, :n], truth)
    return [tally.outcome(n) for n, tally in tallies.items()]


class Tally:
    """What happened in the studies so far."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.hits: dict[str, list[Bools]] = {}
        self.truths: list[Floats] = []
        self.widths: list[Floats] = []

    def add(self, ratios: Floats, truth: Floats) -> None:
        found = judge(ratios)
        self.note("coverage", found.covers(truth))
        self.truths.append(np.broadcast_to(truth, found.mean.shape))
        self.widths.append(found.half_width)
        if self.scenario.name not in NO_DIFFERENCE:
            return
        told, adjusted = concluded(found)
        self.note("false", found.p < ALPHA)
        self.note("familywise", np.less(adjusted.min(axis=1), ALPHA))
        self.note("wrong", np.isin(told, ("faster", "slower")))
        if self.scenario.name == FITTED:
            for ratio in (JUST_OUTSIDE, *DIFFERENCES):
                told, _ = concluded(judge(ratios + np.log(ratio)))
                self.note(f"equivalent {ratio}", np.isin(told, "equivalent"))
                self.note(f"slower {ratio}", np.isin(told, "slower"))

    def note(self, what: str, hits: Bools) -> None:
        self.hits.setdefault(what, []).append(hits)

    def rate(self, what: str) -> Rate | None:
        return joined(self.hits[what]) if what in self.hits else None

    def outcome(self, replicates: int) -> Outcome:
        covered = np.concatenate(self.hits["coverage"])
        truths = np.round(np.exp(np.concatenate(self.truths)), 6)
        return Outcome(
            scenario=self.scenario.name,
            replicates=replicates,
            coverage=joined([covered]),
            by_ratio={float(r): joined([covered[truths == r]]) for r in np.unique(truths)},
            half_width=float(np.expm1(np.median(np.concatenate(self.widths)))),
            false=self.rate("false"),
            wrong=self.rate("wrong"),
            familywise=self.rate("familywise"),
            outside=self.rate(f"equivalent {JUST_OUTSIDE}"),
            power={r: p for r in DIFFERENCES if (p := self.rate(f"slower {r}"))},
        )

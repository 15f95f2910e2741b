"""Simulated studies judged by the report's code, and the requirements on the outcome."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.simulation.drawing import Deal
from benchmarks.simulation.judging import (
    ALPHA,
    MARGIN,
    Bools,
    Floats,
    Rate,
    concluded,
    joined,
    judge,
)
from benchmarks.simulation.noise import Noise
from benchmarks.simulation.procedures import METHODS, MOST, RULES, Staged, false_positives, staged
from benchmarks.simulation.scenarios import (
    MIDDLING,
    NO_DIFFERENCE,
    QUIET,
    SCENARIOS,
    Scenario,
    studies,
)

FITTED = "fitted"
JUST_OUTSIDE = 1 + MARGIN + 0.001
DIFFERENCES = (1.03, 1.05, 1.10)  # whose power is reported
STAGES = (3, 5, 8)
FEWER = 5  # staged studies have many replicates, so fewer of them are drawn

Report = Callable[[float, str], None]


@dataclass(frozen=True)
class Outcome:
    """One scenario at one number of replicates. Rates are of rows, `familywise` of studies.

    `false` is a p-value below alpha before any correction, `familywise` at least one in a study
    after Holm's, `wrong` a verdict of faster or slower. None if there is a difference.
    """

    scenario: str
    replicates: int
    coverage: Rate
    by_ratio: dict[float, Rate]
    half_width: float  # median, as a ratio minus 1
    false: Rate | None = None
    wrong: Rate | None = None
    familywise: Rate | None = None
    outside: Rate | None = None  # called equivalent although the truth is just outside the margin
    power: dict[float, Rate] = field(default_factory=dict)


@dataclass(frozen=True)
class Validation:
    studies: int
    outcomes: list[Outcome]
    naive: dict[str, Rate]
    staged: dict[str, list[Staged]]


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
    return Validation(count, outcomes, naive, grown)


def scenarios(
    fits: Sequence[Noise],
    count: int,
    replicates: Sequence[int],
    report: Report = lambda done, text: None,
) -> list[Outcome]:
    """Fewer replicates are the first ones of the same studies, as in a study that grows."""
    outcomes = []
    for number, scenario in enumerate(SCENARIOS.values()):
        portions = watched(scenario, fits, count, max(replicates), number, report)
        outcomes += tallied(scenario, portions, replicates)
    return outcomes


def steps() -> int:
    """How far `report` counts."""
    return len(SCENARIOS) + 2


def watched(
    scenario: Scenario, fits: Sequence[Noise], count: int, most: int, number: int, report: Report
) -> Iterator[tuple[Floats, Floats]]:
    done = 0
    for ratios, truth in studies(scenario, fits, Deal(), count, most):
        report(number + done / count, f"{scenario.name}, {done:,} of {count:,} studies")
        yield ratios, truth
        done += len(ratios)


def tallied(
    scenario: Scenario, portions: Iterator[tuple[Floats, Floats]], replicates: Sequence[int]
) -> list[Outcome]:
    tallies = {n: Tally(scenario) for n in replicates}
    for ratios, truth in portions:
        for n, tally in tallies.items():
            tally.add(ratios[:, :n], truth)
    return [tally.outcome(n) for n, tally in tallies.items()]


class Tally:
    """Counts of the outcomes in the studies so far."""

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
        said, adjusted = concluded(found)
        self.note("false", found.p < ALPHA)
        self.note("familywise", np.less(adjusted.min(axis=1), ALPHA))
        self.note("wrong", np.isin(said, ("faster", "slower")))
        if self.scenario.name == FITTED:
            for ratio in (JUST_OUTSIDE, *DIFFERENCES):
                said, _ = concluded(judge(ratios + np.log(ratio)))
                self.note(f"equivalent {ratio}", np.isin(said, "equivalent"))
                self.note(f"slower {ratio}", np.isin(said, "slower"))

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


ALLOWED, AT_MOST = 0.05, 0.06
COVERED = (0.94, 0.96)
EQUIVALENT = 0.05
NAIVE = 0.8  # what counting mini-batches gets wrong on noisy machines, at least


@dataclass(frozen=True)
class Demand:
    where: str
    what: str
    met: bool
    seen: Rate

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; seen {interval(self.seen)}"


def demands(validation: Validation) -> list[Demand]:
    of_outcomes = [demand for outcome in validation.outcomes for demand in of_outcome(outcome)]
    return [*of_outcomes, *of_naive(validation)]


def of_outcome(outcome: Outcome) -> Iterator[Demand]:
    where = f"{outcome.scenario}, {outcome.replicates} replicates"
    if SCENARIOS[outcome.scenario].demanded:
        yield covered(where, outcome.coverage)
    if len(outcome.by_ratio) > 1:
        for ratio, rate in outcome.by_ratio.items():
            yield covered(f"{where}, true ratio {ratio:g}", rate)
    if outcome.false:
        yield seldom(where, "false positives", outcome.false)
    if outcome.familywise:
        yield seldom(where, "family-wise errors after Holm", outcome.familywise)
    if outcome.outside:
        met = outcome.outside.high <= EQUIVALENT
        yield Demand(where, "wrongly equivalent at most 5 %", met, outcome.outside)


def covered(where: str, rate: Rate) -> Demand:
    """The whole interval of the coverage must lie within what is demanded, so that too few
    studies show nothing."""
    met = COVERED[0] <= rate.low and rate.high <= COVERED[1]
    return Demand(where, "coverage between 94 and 96 %", met, rate)


def seldom(where: str, what: str, rate: Rate) -> Demand:
    """A right method's true rate is 5 % or just below, so half of all simulations see a little
    more: what is refused is more than one chance in 1,000 explains, or a bound above 6 %."""
    met = rate.least <= ALLOWED and rate.high <= AT_MOST
    return Demand(where, f"{what} at most 5 %, 95 % upper bound at most 6 %", met, rate)


def of_naive(validation: Validation) -> Iterator[Demand]:
    """The noise must be large enough to expose a wrong unit."""
    *wrong, right = METHODS
    for name in wrong:
        rate = validation.naive[name]
        yield Demand(name, "false positives over 80 %, as measured", rate.low > NAIVE, rate)
    yield seldom(right, "false positives", validation.naive[right])


def interval(rate: Rate) -> str:
    return f"{100 * rate.share:.2f} % [{100 * rate.low:.2f}, {100 * rate.high:.2f}]"

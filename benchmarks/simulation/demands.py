"""What a right method must show, and whether it did."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.simulation.naive import METHODS
from benchmarks.simulation.rates import Rate
from benchmarks.simulation.scenarios import SCENARIOS
from benchmarks.simulation.searched import Searched
from benchmarks.simulation.validation import STEADY, Outcome, Validation

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
    searches = found(validation.searched[STEADY])
    of_outcomes = [demand for outcome in validation.outcomes for demand in of(outcome)]
    return [*of_outcomes, *naive(validation), *searches]


def of(outcome: Outcome) -> Iterator[Demand]:
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


def naive(validation: Validation) -> Iterator[Demand]:
    """The noise must be such that a wrong unit is found out."""
    *wrong, right = METHODS
    for name in wrong:
        rate = validation.naive[name]
        yield Demand(name, "false positives over 80 %, as measured", rate.low > NAIVE, rate)
    yield seldom(right, "false positives", validation.naive[right])


def found(searched: Searched) -> Iterator[Demand]:
    """Fewer studies, so that chance has more room: no more is refused than it cannot explain."""
    where = f"steady state searched for, {searched.replicates} replicates"
    for what, rate, most in (
        ("false positives at most 5 %", searched.false, ALLOWED),
        ("contenders wrongly without a steady state at most 5 %", searched.withheld, ALLOWED),
    ):
        yield Demand(where, what, rate.least <= most, rate)
    met = searched.coverage.high >= 1 - ALLOWED
    yield Demand(where, "coverage at least 95 %, but for chance", met, searched.coverage)


def interval(rate: Rate) -> str:
    return f"{100 * rate.share:.2f} % [{100 * rate.low:.2f}, {100 * rate.high:.2f}]"

"""What one study says about another hour and another host, and what a series of studies says."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from analysis.stats.series import predictions
from benchmarks.simulation.judging import CONFIDENCE, DESIGNS, SEED, covered, judge, simulated
from benchmarks.simulation.noise import by_occasion, fit
from benchmarks.simulation.records import Floats, RecordedStudy
from benchmarks.simulation.results import Moved, Predicted, rate

REPLICATES = 5  # the fewest of the default design
HOUR, START, HOST = "another hour", "another start, the same processor", "any other host"
SERIES = (3, 6)


def spreads(studies: Sequence[RecordedStudy]) -> dict[str, float]:
    """Standard deviations of true log-ratios, over all comparisons: between the hours of one
    occasion, between occasions of the machine with the most studies, and between all. What the
    studies are too few to show is left out."""
    hours, weights = [], []
    for own in by_occasion(studies).values():
        if len(own) > 1:
            means = np.array([study.ratios.mean(axis=0) for study in own])
            errors = [study.ratios.var(axis=0, ddof=1) / len(study.ratios) for study in own]
            hours.append(float((means.var(axis=0, ddof=1) - np.mean(errors, axis=0)).mean()))
            weights.append(len(own) - 1)
    most = most_studied_machine(studies)
    found = {HOUR: max(float(np.average(hours, weights=weights)), 0.0) ** 0.5} if hours else {}
    groups = {START: [study for study in studies if study.occasion.machine == most], HOST: studies}
    return found | {
        where: between(own) for where, own in groups.items() if len(by_occasion(own)) > 1
    }


def most_studied_machine(studies: Sequence[RecordedStudy]) -> str:
    """The machine with the most studies."""
    machines = [study.occasion.machine for study in studies]
    return max(dict.fromkeys(machines), key=machines.count)


def occasions(studies: Sequence[RecordedStudy]) -> Floats:
    """Mean log-ratios, (occasions, comparisons)."""
    return np.array(
        [
            np.mean([study.ratios.mean(axis=0) for study in own], axis=0)
            for own in by_occasion(studies).values()
        ]
    )


def between(studies: Sequence[RecordedStudy]) -> float:
    """Standard deviation between occasions. The variance includes that of the means' own errors,
    which is less than a tenth of it."""
    return float(occasions(studies).var(axis=0, ddof=1).mean() ** 0.5)


def moved(studies: Sequence[RecordedStudy], count: int) -> list[Moved]:
    """Simulated intervals against other truths, and recorded intervals against the estimates of
    other recorded studies."""
    name, (design, _) = "default", DESIGNS["default"]
    own = simulated(fit(studies, design), name, REPLICATES, count)
    recorded_design, (replicates,) = DESIGNS["former"]
    noise = fit(studies, recorded_design)
    one, other = (simulated(noise, f"{side} study", replicates, count) for side in ("one", "other"))
    random = np.random.default_rng([SEED, count])
    found = []
    for where, sd in spreads(studies).items():
        apart = sd * 2**0.5 * random.standard_normal(own.mean.shape)
        seen, pairs = captured(studies, where)
        found.append(
            Moved(
                where=where, sd=sd, coverage=covered(own, apart),
                expected=covered(one, other.mean + apart), seen=seen, pairs=pairs,
            )
        )  # fmt: skip
    return found


def captured(studies: Sequence[RecordedStudy], where: str) -> tuple[int, int]:
    """How many recorded intervals contain the estimate of another recorded study, of how many. The
    interval is of a full study of the former design. So is the estimate if only the hour differs.
    """
    design, (replicates,) = DESIGNS["former"]
    seen = pairs = 0
    for one, other in permutations(studies, 2):
        full = [each.design == design and len(each.logs) == replicates for each in (one, other)]
        same = one.occasion == other.occasion
        machine = one.occasion.machine == other.occasion.machine == most_studied_machine(studies)
        wanted = {
            HOUR: same and all(full),
            START: not same and machine and full[0],
            HOST: not same and not machine and full[0],
        }
        if wanted[where]:
            judged = judge(one.ratios[None])
            mean = other.ratios.mean(axis=0)
            seen += int(((judged.low <= mean) & (mean <= judged.high)).sum())
            pairs += mean.size
    return seen, pairs


def predicted(studies: Sequence[RecordedStudy], count: int) -> list[Predicted]:
    """Series of one study on each of several hosts, and of several hours of one host."""
    noise = fit(studies, DESIGNS["default"][0])
    sd = spreads(studies)
    random = np.random.default_rng([SEED, count, 1])

    def normal(size: float) -> Floats:
        return size * random.standard_normal((count, noise.sizes.shape[1]))

    found = []
    for many in SERIES:
        for of, host in (("hosts", START), ("hosts", HOST), ("hours of one host", START)):
            if host not in sd:
                continue
            first, last = normal(sd[host]), normal(sd[host])
            values = []
            for number in range(many + 1):
                estimate = noise.draw(count, REPLICATES, random).mean(axis=1)
                estimate += normal(sd.get(HOUR, 0.0))
                alike = of != "hosts" and number < many
                own = first if alike else last if number == many else normal(sd[host])
                values.append(estimate + own)
            low, high = predictions(np.array(values[:many]), CONFIDENCE)
            inside = rate((low <= values[many]) & (values[many] <= high))
            found.append(Predicted(count=many, of=of, sd=sd[host], coverage=inside))
    return found


def held_out(studies: Sequence[RecordedStudy]) -> tuple[int, int]:
    """Recorded occasions whose mean lies within the prediction interval of the others, over all
    comparisons, of how many."""
    means = occasions(studies)
    if len(means) < 3:
        return 0, 0
    inside = 0
    for place in range(len(means)):
        low, high = predictions(np.delete(means, place, axis=0), CONFIDENCE)
        inside += int(((low <= means[place]) & (means[place] <= high)).sum())
    return inside, means.size

"""Ratios of ratios: which framework gains more from a second thread, whose ratio is smaller on one
network than in the median of the others, and what is smaller on a GPU than on a processor.

Both ratios are of one study. Their errors are taken as independent, which makes intervals too wide
if both have the same noise. Student's test has the degrees of freedom of one of the two.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from analysis.data.results import grouped
from analysis.literature.published.table7 import networks
from analysis.literature.studies import CONFIDENCE, MeasuredRatio, Pair
from analysis.stats.inference import Estimate, Verdict
from analysis.stats.tails import t_exceeded
from frameworks.device import GPU, HOST

SECOND = Pair("threads", "2", "1")
GAIN = "gain"  # the axis of one framework's gain from threads over another's
# A framework's ratio to another on one network, over the median of those on the other networks.
ELSEWHERE = "elsewhere"
# The slowest framework's time over the fastest's.
SPREAD, EVERY = Pair("spread", GPU.name, HOST.name), "every framework"
# The time of twice the batch over that of the batch; on the processor with one thread.
TWICE = Pair("workload", "cnn-batch-16", "cnn-batch-8")
DOUBLING = Pair("doubling", GPU.name, HOST.name)


def double_ratios(ratios: Sequence[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    yield from gains(ratios)
    yield from on_other_networks(ratios)
    yield from spreads(ratios)
    yield from doublings(ratios)


def gains(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """The time with two threads over that with one, and one framework's ratio over another's."""
    own = [row for row in oriented(ratios, "threads") if row.pair == SECOND]
    for row, other in product(own, own):
        frameworks = row.id.framework, other.id.framework
        if frameworks[0] < frameworks[1] and comparable(row, other):
            yield over(row, other, Pair(GAIN, *frameworks), row.id.workload)


def on_other_networks(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """The ratio of two frameworks on a network of Table 7 over its median on the other networks.
    There are none if the study lacks a network. The axis names the two frameworks."""
    every = {name.lower() for name in networks()}
    alike = grouped(
        ((row.machine, row.id.device, row.id.variant, row.pair, row.id.threads), row)
        for row in oriented(ratios, "framework")
    )
    for rows in alike.values():
        own = {row.id.workload: row for row in rows if row.id.workload in every}
        for row in own.values() if own.keys() == every else ():
            others = [other for other in own.values() if other is not row]
            axis = f"{row.pair.one} over {row.pair.over}"
            about = f"the median of {len(others)} other networks"
            yield over(row, middle(others), Pair(axis, row.id.workload, ELSEWHERE), about)


def spreads(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """The spread of frameworks on a GPU over that on the processor, if both have the same ones. The
    pair with the largest ratio stands for a spread; there is none if any pair is unusable."""
    alike = grouped(
        ((row.machine, row.id.workload, row.id.variant, row.id.threads), row)
        for row in ratios
        if row.pair.axis == "framework"
    )
    for rows in alike.values():
        gpu, host = ([row for row in rows if row.id.device == own] for own in SPREAD[1:])
        if gpu and {row.pair for row in gpu} == {row.pair for row in host}:
            one = over(widest(gpu), widest(host), SPREAD, gpu[0].id.workload)
            yield replace(one, id=one.id._replace(framework=EVERY))


def widest(rows: Sequence[MeasuredRatio]) -> MeasuredRatio:
    """The pair that is farthest apart, its slower side first, or one that is unusable."""
    if unusable := [row for row in rows if not row.usable]:
        return unusable[0]
    return max((own for row in rows for own in (row, row.inverse)), key=lambda own: own.known.ratio)


def doublings(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """What twice the batch takes on a GPU, over what it takes on one thread of the processor."""
    own = [row for row in oriented(ratios, TWICE.axis) if row.pair == TWICE]
    for row, other in product(own, own):
        host = row.id._replace(device=HOST.name, threads=1)
        if row.id.device == GPU.name and (other.id, other.machine) == (host, row.machine):
            yield over(row, other, DOUBLING, row.id.workload)


def middle(rows: Sequence[MeasuredRatio]) -> MeasuredRatio:
    """The median ratio, which is unusable if any of them is. Its error is that of the one or two
    ratios in the middle."""
    own = combined(rows)
    if not own.certificate:
        return own
    ranked = sorted(rows, key=lambda row: row.known.ratio)
    inner = ranked[(len(rows) - 1) // 2 : len(rows) // 2 + 1]
    log = sum(math.log(row.known.ratio) for row in inner) / len(inner)
    error = math.hypot(*(row.error for row in inner)) / len(inner)
    return around(own, log, error, own.estimate.replicates)


def combined(rows: Sequence[MeasuredRatio]) -> MeasuredRatio:
    """The first row without its ratio, with what was proven of all and their fewest replicates. It
    has no certificate if one of them is unusable."""
    reasons = dict.fromkeys(row.reason for row in rows if not row.usable)
    proven = "" if reasons else "; ".join(sorted({row.certificate for row in rows}))
    fewest = Estimate(min(row.estimate.replicates for row in rows))
    return replace(rows[0], estimate=fewest, certificate=proven, reason="; ".join(reasons))


def oriented(ratios: Iterable[MeasuredRatio], axis: str) -> list[MeasuredRatio]:
    """The pairs along an axis, in both directions."""
    return [own for row in ratios if row.pair.axis == axis for own in (row, row.inverse)]


def comparable(one: MeasuredRatio, other: MeasuredRatio) -> bool:
    """Whether they differ in nothing but the framework and the number of threads."""
    alike = one.id._replace(framework=other.id.framework, threads=other.id.threads) == other.id
    return alike and (one.machine, one.pair) == (other.machine, other.pair)


def over(one: MeasuredRatio, other: MeasuredRatio, pair: Pair, workload: str) -> MeasuredRatio:
    """The ratio of two ratios, with its interval. It is unusable if one of the two is."""
    own = replace(combined([one, other]), pair=pair, id=one.id._replace(workload=workload))
    if not own.certificate:
        return own
    log, error = math.log(one.known.ratio / other.known.ratio), math.hypot(one.error, other.error)
    return around(own, log, error, own.estimate.replicates)


def around(row: MeasuredRatio, log: float, error: float, replicates: int) -> MeasuredRatio:
    """The row with a ratio, its interval and its verdict, from the logarithm and its standard
    error."""
    reach = quantile(replicates) * error
    low, high = math.exp(log - reach), math.exp(log + reach)
    verdict: Verdict = "faster" if high < 1 else "slower" if low > 1 else "cannot tell"
    return replace(row, estimate=Estimate(replicates, math.exp(log), low, high, verdict=verdict))


def quantile(replicates: int) -> float:
    """Half of the width of Student's interval, in standard errors."""
    return t_exceeded((1 - CONFIDENCE) / 2, replicates - 1)

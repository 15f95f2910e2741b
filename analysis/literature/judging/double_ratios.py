"""Ratios of ratios: who gains more from a second thread, and whose ratio is smaller on one network.

Both ratios are of one study. Their errors are taken as independent, which makes intervals too wide
if both have the same noise. Student's test has the degrees of freedom of one of the two.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product

from analysis.literature.studies import CONFIDENCE, MeasuredRatio, Pair
from analysis.stats.inference import Verdict
from analysis.stats.tails import t_exceeded

SECOND = Pair("threads", "2", "1")
GAIN = "gain"  # the axis of one framework's gain from threads over another's
# A framework's ratio to another on one network, over that on each other network.
ELSEWHERE = "elsewhere"


def double_ratios(ratios: Sequence[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    yield from gains(ratios)
    yield from on_other_networks(ratios)


def gains(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """Of two frameworks, the time with two threads over that with one: one framework's ratio over
    the other's."""
    own = [row for row in oriented(ratios, "threads") if row.pair == SECOND]
    for row, other in product(own, own):
        if row.framework < other.framework and same(row, other, "workload", "variant", "pair"):
            yield over(row, other, Pair(GAIN, row.framework, other.framework), row.workload)


def on_other_networks(ratios: Iterable[MeasuredRatio]) -> Iterator[MeasuredRatio]:
    """Of two frameworks, the ratio on one network over that on another, which is the row's
    workload. The axis names the two frameworks."""
    for row, other in permutations(oriented(ratios, "framework"), 2):
        if row.workload != other.workload and same(row, other, "variant", "pair", "threads"):
            axis = f"{row.pair.one} over {row.pair.over}"
            yield over(row, other, Pair(axis, row.workload, ELSEWHERE), other.workload)


def oriented(ratios: Iterable[MeasuredRatio], axis: str) -> list[MeasuredRatio]:
    """The pairs along an axis, in both directions."""
    return [own for row in ratios if row.pair.axis == axis for own in (row, row.inverse)]


def same(one: MeasuredRatio, other: MeasuredRatio, *fields: str) -> bool:
    names = ("machine", "device", *fields)
    return all(getattr(one, name) == getattr(other, name) for name in names)


def over(one: MeasuredRatio, other: MeasuredRatio, pair: Pair, workload: str) -> MeasuredRatio:
    """The ratio of two ratios, with its interval. It is unusable if one of the two is."""
    reasons = [row.reason for row in (one, other) if not row.usable]
    proven = sorted({one.certificate, other.certificate})
    own = MeasuredRatio(
        one.study, one.machine, pair, workload, one.device, one.threads, one.variant,
        one.framework, min(one.replicates, other.replicates), None, None, None, None, "",
        "; ".join(dict.fromkeys(reasons)),
    )  # fmt: skip
    if reasons:
        return own
    assert one.value and other.value
    middle = math.log(one.value / other.value)
    freedom = own.replicates - 1
    reach = t_exceeded((1 - CONFIDENCE) / 2, freedom) * math.hypot(one.error, other.error)
    low, high = math.exp(middle - reach), math.exp(middle + reach)
    verdict: Verdict = "faster" if high < 1 else "slower" if low > 1 else "cannot tell"
    return replace(
        own, value=math.exp(middle), low=low, high=high, verdict=verdict,
        certificate="; ".join(proven),
    )  # fmt: skip

"""Claims that the times of several studies decide together."""

from collections.abc import Callable, Sequence

from analysis.format import count, title
from analysis.literature.arithmetic import Calculation
from analysis.literature.studies import Study, Time
from analysis.literature.table7 import networks
from analysis.report.prose import milliseconds, share, workload

SMALL = ("mlp-width-", "cnn-filters-", "cnn-batch-")  # workloads of the study `sweep`
LIMIT = 0.05


def fixed_cost(studies: Sequence[Study]) -> Calculation | None:
    """Whether what a step costs whatever its size is below 5 % of the step of every network.

    A step of the smallest workload costs at least as much, so it is an upper bound. Only the
    tutorials' variants with a certificate count. None if a network, or a small workload under the
    same conditions, is not there.
    """
    every = [own for study in studies for own in study.times if own[:5] in proven(study)]
    names = {name.lower() for name in networks()}
    large = [own for own in every if own.workload in names]
    shares = [(bound.high / own.low, bound, own) for own in large if (bound := least(every, own))]
    if {own.workload for _, _, own in shares} != names or len(shares) < len(large):
        return None
    worst, bound, own = max(shares, key=lambda found: found[0])
    return Calculation(
        worst < LIMIT,
        f"the smallest step of {title(own.framework)} with {count(own.threads, 'thread')} takes "
        f"{milliseconds(bound.median)}, which is at most {share(worst)} of its step on "
        f"{workload(own.workload)}; no share is larger",
    )


def proven(study: Study) -> set[tuple[str, str, str, str, int]]:
    """The contenders of pairs of frameworks whose certificates allow a ratio."""
    return {
        (row.workload, side, row.variant, row.device, row.threads)
        for row in study.ratios
        if row.usable and row.pair.axis == "framework" and row.variant == "default"
        for side in (row.pair.one, row.pair.over)
    }


def least(every: Sequence[Time], one: Time) -> Time | None:
    """The shortest step of a small workload under the conditions of a contender."""
    alike = [
        own for own in every
        if own.workload.startswith(SMALL) and own[1:5] == one[1:5]
    ]  # fmt: skip
    return min(alike, key=lambda own: own.median, default=None)


MEASURED: dict[str, Callable[[Sequence[Study]], Calculation | None]] = {
    "fixed cost of a step": fixed_cost
}

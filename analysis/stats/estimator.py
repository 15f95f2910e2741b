"""The estimator of a ratio within a contest: the report, the simulation and the benchmarks call it.

Another estimator is a module beside this one and these two lines.
"""

from analysis.stats.hodges_lehmann import hodges_lehmann

log_ratio = hodges_lehmann
DESCRIPTION = (
    "the median over all pairs of steady-state mini-batches, one of each side, of the same round "
    "(Hodges and Lehmann's estimate), so that what both sides felt cancels"
)

"""How far apart two contenders are in one contest. The report, the simulation and the benchmarks
call `log_ratio`. To change the estimator, add a function and name it in the last line."""

from analysis.stats.rounds import Floats, median


def hodges_lehmann(one: Floats, other: Floats) -> Floats:
    """The median of all differences between a value of one side and a value of the other in the
    same round, over the rounds that both sides have; NaN if they share none.

    Hodges and Lehmann 1963, "Estimates of location based on rank tests", for two samples, with
    rounds as strata. Interference that affects both sides of a round cancels. If times jump between
    two levels, as on a busy host, this median moves little, but a ratio of medians jumps with
    them (docs/noise.md).

    Args:
        one, other: (..., rounds, places); places and the number of rounds may differ.

    Returns:
        (...)
    """
    shared = min(one.shape[-2], other.shape[-2])
    apart = one[..., :shared, :, None] - other[..., :shared, None, :]
    return median(apart.reshape(*apart.shape[:-3], -1))


log_ratio = hodges_lehmann

"""Known answers, worked by hand or taken from tables."""

import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from analysis.stats.inference import detectable, holm, power, replicates_needed, student, verdict


def test_student_interval_worked_by_hand() -> None:
    # mean 0.2, standard deviation 0.1, t(0.975; 2) = 4.302653: 0.2 +- 4.302653 * 0.1 / sqrt(3)
    estimate = student([0.1, 0.2, 0.3], 0.95)
    assert estimate.n == 3
    assert estimate.mean == pytest.approx(0.2)
    assert estimate.sd == pytest.approx(0.1)
    assert estimate.low == pytest.approx(0.2 - 0.248414, abs=1e-6)
    assert estimate.high == pytest.approx(0.2 + 0.248414, abs=1e-6)
    # t = 3.464102 at 2 degrees of freedom: p = 1 - t / sqrt(t^2 + 2)
    assert estimate.p == pytest.approx(1 - 3.4641016 / math.sqrt(14), abs=1e-6)


def test_one_replicate_has_no_interval() -> None:
    estimate = student([0.3], 0.95)
    assert (estimate.mean, estimate.low, estimate.high, estimate.p) == (0.3, None, None, None)


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.1 + 0.2, 0.0), (-0.4, 0.0)])
def test_without_variance_the_interval_is_a_point(value: float, p: float) -> None:
    estimate = student([value] * 5, 0.95)
    assert (estimate.sd, estimate.low, estimate.high, estimate.p) == (0, value, value, p)
    assert detectable(0.0, 5, 0.05) == 0
    assert replicates_needed(0.0, 0.03, 0.05) == 2


def test_holm_worked_by_hand() -> None:
    # sorted 0.01, 0.03, 0.04 times 3, 2, 1, never decreasing
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_holm_is_that_of_statsmodels() -> None:
    random = np.random.default_rng(1)
    for count in (1, 2, 7, 40):
        p = random.uniform(0, 1, count) ** 3
        p[count // 2 :] = p[: count - count // 2]  # with ties
        assert holm(p.tolist()) == multipletests(p, method="holm")[1].tolist()


@pytest.mark.parametrize(
    ("ratio", "low", "high", "p", "expected"),
    [
        (0.5, 0.4, 0.6, 0.001, "faster"),
        (2.0, 1.5, 2.5, 0.001, "slower"),
        (0.5, 0.4, 0.6, 0.06, "cannot tell"),  # significant alone, not in its family
        (1.0, 0.9, 1.1, 0.9, "cannot tell"),
        (1.0, 0.98, 1.02, 0.9, "equivalent"),
        (1.015, 1.01, 1.02, 0.001, "equivalent"),  # different, but not by enough to matter
        (1.0, 1 / 1.03, 1.03, 0.9, "equivalent"),
        (1.0, 0.9708, 1.03, 0.9, "cannot tell"),  # 1/1.03 = 0.97087
    ],
)
def test_verdict(ratio: float, low: float, high: float, p: float, expected: str) -> None:
    assert verdict(ratio, low, high, p, 0.03, 0.05) == expected


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10)])
def test_replicates_needed_as_in_power_tables(effect: float, n: int) -> None:
    # G*Power, one-sample t, two-sided, alpha 0.05, power 0.8
    assert replicates_needed(1.0, math.expm1(effect), 0.05) == n
    assert power(effect, n - 1, 0.05) < 0.8 <= power(effect, n, 0.05)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 12, 40])
def test_detectable_agrees_with_statsmodels(n: int) -> None:
    effect = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert math.log1p(detectable(0.03, n, 0.05)) == pytest.approx(0.03 * effect, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8, 0.05 / 48])
def test_power_is_never_nan(alpha: float) -> None:
    # scipy answers NaN for the far tail at some of these
    for n in (2, 3, 5, 7, 20):
        for effect in (0.01, 0.5, 3, 6, 8, 10, 18, 100):
            assert 0.999999 * alpha <= power(effect, n, alpha) <= 1.0000001


def test_what_nobody_could_see_is_still_a_number() -> None:
    assert math.isfinite(detectable(1.0, 2, 0.05 / 500))


def test_seven_replicates_of_an_even_pair_are_told_apart_one_time_in_twenty() -> None:
    random = np.random.default_rng(7)
    studies = 2000
    false = sum(
        (student(list(process_logs(random, 7)), 0.95).p or 0) < 0.05 for _ in range(studies)
    )
    # binomial: 5 % of 2000, four standard deviations either way
    assert 61 <= false <= 139


def test_interval_covers_a_true_difference() -> None:
    random = np.random.default_rng(8)
    truth, covered = math.log(1.2), 0
    for _ in range(2000):
        estimate = student([truth + log for log in process_logs(random, 5)], 0.95)
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert 0.93 <= covered / 2000 <= 0.97


def process_logs(random: np.random.Generator, n: int) -> Any:
    """Log-ratios of medians of two equal contenders: persistent process effects, and 32
    autocorrelated mini-batches each."""
    sides = []
    for _ in range(2):
        noise = random.normal(0, 0.03, (n, 32))
        for i in range(1, 32):
            noise[:, i] += 0.36 * noise[:, i - 1]
        sides.append(random.normal(0, 0.03, n) + np.median(noise, axis=1))
    return sides[0] - sides[1]

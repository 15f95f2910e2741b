"""Known answers, worked by hand or taken from tables."""

import math

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from analysis.stats.inference import Estimate, estimates, holm, student, verdict


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


MARGIN = 0.05


@pytest.mark.parametrize(
    ("interval", "narrow", "expected"),
    [
        ((0.4, 0.6), (0.42, 0.58), "faster"),
        ((1.5, 2.5), (1.6, 2.4), "slower"),
        ((0.9, 1.1), (0.92, 1.08), "cannot tell"),
        ((0.96, 1.04), (0.97, 1.03), "equivalent"),
        ((0.94, 1.06), (0.96, 1.04), "equivalent"),  # the narrower interval decides
        ((0.96, 1.04), (0.94, 1.04), "cannot tell"),
        ((1.01, 1.02), (1.012, 1.018), "equivalent"),  # slower, but not by enough to matter
        ((0.97, 0.99), (0.975, 0.985), "equivalent"),  # faster, likewise
        ((1.01, 1.06), (1.02, 1.051), "slower"),
        ((0.9, 1 / 1.05), (0.91, 0.95), "faster"),
        # an interval that touches 1 does not leave it out
        ((1.0, 1.3), (1.02, 1.25), "cannot tell"),
        ((0.8, 1.0), (0.82, 0.98), "cannot tell"),
        # a narrower interval that touches the margin lies within it, either way
        ((0.9, 1.1), (1 / 1.05, 1.05), "equivalent"),
        ((0.9, 1.1), (0.9523, 1.05), "cannot tell"),  # 1/1.05 = 0.95238
        ((0.9, 1.1), (1 / 1.05, 1.0501), "cannot tell"),
    ],
)
def test_verdict(interval: tuple[float, float], narrow: tuple[float, float], expected: str) -> None:
    assert verdict(interval, narrow, MARGIN) == expected


def judged(logs: list[float], confidence: float = 0.95) -> Estimate:
    (one,) = estimates([logs], MARGIN, confidence)
    return one


def test_both_intervals_are_worked_by_hand() -> None:
    # mean 0.2, standard deviation 0.1; t(0.95; 2) = 2.919986: 0.2 +- 2.919986 * 0.1 / sqrt(3)
    found = judged([0.1, 0.2, 0.3])
    assert found.ratio == pytest.approx(math.exp(0.2))
    assert found.ratio_low == pytest.approx(math.exp(0.2 - 0.248414), rel=1e-6)
    assert found.tost_low == pytest.approx(math.exp(0.2 - 0.168585), rel=1e-6)
    assert found.tost_high == pytest.approx(math.exp(0.2 + 0.168585), rel=1e-6)
    assert found.verdict == "cannot tell"
    # t(0.995; 2) = 9.924843, t(0.99; 2) = 6.964557
    strict = judged([0.1, 0.2, 0.3], 0.99)
    assert strict.ratio_high == pytest.approx(math.exp(0.2 + 0.573011), rel=1e-6)
    assert strict.tost_high == pytest.approx(math.exp(0.2 + 0.402099), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_equivalent_is_two_one_sided_tests_at_five_percent(n: int) -> None:
    random, margin, seen = np.random.default_rng(n), math.log1p(MARGIN), set()
    for _ in range(60):
        logs = random.normal(random.normal(0, 0.03), 0.03, n)
        p, _, _ = DescrStatsW(logs).ttost_mean(-margin, margin)
        equivalent = judged(logs.tolist()).verdict == "equivalent"
        assert equivalent == (p < 0.05)
        seen.add(equivalent)
    assert seen == {True, False}


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_faster_and_slower_are_students_test_at_five_percent(n: int) -> None:
    random = np.random.default_rng(n)
    for _ in range(60):
        logs = random.normal(random.normal(0, 0.3), 0.1, n).tolist()
        found = judged(logs)
        assert found.p is not None and found.ratio is not None
        if found.verdict != "equivalent":
            expected = "faster" if found.ratio < 1 else "slower"
            assert found.verdict == (expected if found.p < 0.05 else "cannot tell")


def test_one_replicate_cannot_tell_and_none_is_missing() -> None:
    one, none = estimates([[0.7], []], MARGIN, 0.95)
    assert one == Estimate(1, math.exp(0.7), verdict="cannot tell")
    assert none == Estimate(verdict="missing")


def test_a_verdict_does_not_depend_on_the_other_rows() -> None:
    row = [0.02, 0.09, 0.11, 0.06]  # p = 0.04
    alone, among = judged(row), estimates([row, *[[0.0, 0.1]] * 20, [0.3]], MARGIN, 0.95)[0]
    assert alone.verdict == among.verdict == "slower"
    assert alone.p == among.p == alone.p_adjusted
    assert among.p_adjusted and alone.p and among.p_adjusted == pytest.approx(21 * alone.p)

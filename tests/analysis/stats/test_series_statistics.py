"""The statistics of a series, on plain arrays with known answers."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.findings.speed.movement import lasting
from analysis.stats.series import captured_by_chance, mean_f, permuted, prediction, share_of_line

RANDOM = np.random.default_rng(5)


def test_the_prediction_interval_holds_the_next_value_as_often_as_it_says() -> None:
    values = RANDOM.normal(0.3, 0.1, (2000, 6))
    found = [prediction(row[:5].tolist(), 0.95) for row in values]
    held = [ends is not None and ends[0] <= row[5] <= ends[1]
            for ends, row in zip(found, values, strict=True)]  # fmt: skip
    # binomial: three standard deviations of 2000 at 95 %
    assert np.mean(held) == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 2000))
    assert prediction([0.3], 0.95) is None
    assert prediction([0.1, 0.3], 0.95) == pytest.approx(
        (0.2 - 12.706 * math.sqrt(0.03), 0.2 + 12.706 * math.sqrt(0.03)), abs=1e-3
    )


@pytest.mark.parametrize(("n", "other"), [(8, 8), (5, 8), (8, 5)])
def test_how_often_equal_studies_capture_each_other(n: int, other: int) -> None:
    logs = RANDOM.normal(0, 1, (40_000, n + other))
    one, second = logs[:, :n], logs[:, n:]
    half = stats.t.isf(0.025, n - 1) * one.std(axis=1, ddof=1) / math.sqrt(n)
    seen = np.mean(np.abs(one.mean(axis=1) - second.mean(axis=1)) <= half)
    assert captured_by_chance(n, other, 0.95) == pytest.approx(seen, abs=0.006)


def test_mean_f_is_the_mean_of_analyses_of_variance() -> None:
    values = RANDOM.normal(0, 1, (20, 3))
    values[3, 1] = math.nan
    labels = np.repeat([0, 1, 2], [6, 7, 7])
    groups = [[row[~np.isnan(row)] for row in (values[labels == g, r] for g in range(3))]
              for r in range(3)]  # fmt: skip
    expected = np.mean([stats.f_oneway(*own).statistic for own in groups])
    assert mean_f(values, labels) == pytest.approx(expected)
    both = mean_f(values, np.stack([labels, labels[::-1]]))
    assert both[0] == pytest.approx(expected) and both.shape == (2,)
    flat = np.column_stack([values[:, :1], np.ones((20, 1)), np.full((20, 1), math.nan)])
    assert mean_f(flat, labels) == pytest.approx(mean_f(values[:, :1], labels))


def test_the_joint_test_finds_a_shift_that_every_row_shares_and_errs_one_time_in_twenty() -> None:
    labels = np.repeat([0, 1, 2], 8)
    shared = RANDOM.normal(0, 1, (300, 24, 1))  # as a shared reference makes rows depend
    p = [permuted(RANDOM.normal(0, 1, (24, 4)) + own, labels, orders=200)[1] for own in shared]
    # binomial: three standard deviations of 300 at 5 %
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    shifted = RANDOM.normal(0, 1, (24, 4)) + 1.5 * (labels == 1)[:, None]
    assert permuted(shifted, labels)[1] < 0.01


def test_the_share_of_a_line_is_that_of_a_regression() -> None:
    speeds = RANDOM.normal(0, 1, (1, 9))
    values = 0.5 * speeds + RANDOM.normal(0, 0.3, (1, 9))
    one = share_of_line(values, speeds, np.zeros(9, int))
    assert one == pytest.approx((stats.pearsonr(speeds[0], values[0]).statistic ** 2, 1 / 8))
    groups = np.repeat([0, 1, 2], 3)
    jumps = np.array([0.0, 50.0, -20.0])[groups]  # between groups, so it takes no part
    within = share_of_line(values + jumps, speeds, groups)
    assert within == pytest.approx(share_of_line(values, speeds, groups))
    assert share_of_line(values, np.ones((1, 9)), groups) is None
    assert share_of_line(values[:, :3], speeds[:, :3], np.arange(3)) is None


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((0.5, 0.5), "not yet (2 occasions)"),
        ((0.50, 0.52, 0.51), "lasting faster"),
        ((1.50, 1.52, 1.51), "lasting slower"),
        ((0.90, 0.80, 0.97), "cannot tell"),  # all faster, and the next need not be
        ((1.000, 1.001, 0.999), "lasting equivalent"),
        ((1.020, 1.021, 1.0205), "lasting equivalent"),  # and slower: within the margin counts
    ],
)
def test_a_series_lasts_only_from_three_occasions_and_by_the_next(
    ratios: tuple[float, ...], verdict: str
) -> None:
    assert lasting([math.log(ratio) for ratio in ratios], 0.05, 0.95) == verdict

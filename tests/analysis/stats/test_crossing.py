"""Where a ratio crosses 1, from replicates whose crossing is known."""

import math

import numpy as np
import pytest

from analysis.stats.crossing import crossing

SIZES = [16, 32, 64, 128, 256, 512]
RANDOM = np.random.default_rng(11)


def drawn(at: float, slope: float = -0.3, sd: float = 0.04, replicates: int = 5) -> np.ndarray:
    """Logarithms of ratios that cross 0 at the size `at`: replicates, sizes."""
    true = slope * (np.log(SIZES) - math.log(at))
    return true + RANDOM.normal(0, sd, (replicates, len(SIZES)))


def test_a_crossing_is_found_between_the_right_sizes() -> None:
    found = crossing(SIZES, drawn(90).tolist(), 0.95)
    assert (found.changes, found.below, found.above) == (1, 1, -1)
    assert found.at and found.low and found.high
    assert found.low <= found.at <= found.high
    assert 60 < found.low < 90 < found.high < 140


def test_without_noise_the_crossing_is_exact() -> None:
    found = crossing(SIZES, drawn(90, sd=0.0).tolist(), 0.95)
    assert found.at == pytest.approx(90, rel=0.01)
    assert found.low == pytest.approx(90, rel=0.01) == found.high


def test_the_interval_covers_the_planted_crossing_in_95_percent_of_sweeps() -> None:
    """Of sweeps whose sign changes once, as most do; 600 sweeps of five replicates."""
    covered = tried = 0
    for at in RANDOM.uniform(math.log(40), math.log(200), 600):
        found = crossing(SIZES, drawn(math.exp(at)).tolist(), 0.95)
        if found.changes == 1:
            assert found.low and found.high
            tried += 1
            covered += found.low <= math.exp(at) <= found.high
    print(f"{covered} of {tried} intervals cover the planted crossing")
    assert tried > 550
    assert 0.93 < covered / tried < 0.985


def test_equal_times_differ_nowhere() -> None:
    """With 95 % confidence over all sizes together."""
    decided = [crossing(SIZES, drawn(90, 0.0).tolist(), 0.95).decided for _ in range(1000)]
    print(f"{sum(map(bool, decided))} of 1,000 sweeps of equal times have a decided size")
    assert 20 < sum(map(bool, decided)) < 70


def test_several_changes_give_no_size() -> None:
    wave = np.array([0.2, -0.2, 0.2, -0.2, -0.2, -0.2])
    found = crossing(SIZES, (wave + RANDOM.normal(0, 0.01, (5, 6))).tolist(), 0.95)
    assert (found.changes, found.at, found.below, found.above) == (3, None, 1, -1)


def test_one_side_only() -> None:
    found = crossing(SIZES, drawn(4).tolist(), 0.95)
    assert (found.changes, found.at, found.below, found.above) == (0, None, -1, -1)

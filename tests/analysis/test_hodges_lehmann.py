"""The estimate of how far two contenders are apart in a contest."""

from itertools import product
from statistics import median

import numpy as np
import pytest

from analysis.stats import hodges_lehmann as module
from analysis.stats.hodges_lehmann import Floats, by_round, differences

Rounds = list[tuple[Floats, Floats]]


def rounds(seed: int = 1, sizes: tuple[tuple[int, int], ...] = ((3, 4), (1, 2), (5, 5))) -> Rounds:
    random = np.random.default_rng(seed)
    return [(random.normal(2, 1, n), random.normal(1, 1, m)) for n, m in sizes]


def hodges_lehmann(sides: Rounds) -> float | None:
    one, other = (dict(enumerate(side)) for side in zip(*sides, strict=True))
    return module.hodges_lehmann(one, other)


def swapped(sides: Rounds) -> Rounds:
    return [(other, one) for one, other in sides]


def test_it_is_the_median_of_all_differences_in_a_round() -> None:
    by_hand = median(a - b for one, other in rounds() for a, b in product(one, other))
    assert hodges_lehmann(rounds()) == pytest.approx(by_hand)
    assert hodges_lehmann([(np.array([5.0]), np.array([3.0]))]) == 2.0


def test_neither_side_is_favoured() -> None:
    assert hodges_lehmann(swapped(rounds())) == pytest.approx(-(hodges_lehmann(rounds()) or 0))


def test_what_both_sides_felt_in_a_round_drops_out_and_a_difference_comes_in_whole() -> None:
    weather = [
        (one + felt + 0.25, other + felt)
        for (one, other), felt in zip(rounds(), (9, -4, 0), strict=True)
    ]
    assert hodges_lehmann(weather) == pytest.approx((hodges_lehmann(rounds()) or 0) + 0.25)


def test_a_jump_of_one_side_moves_it_less_than_a_ratio_of_medians() -> None:
    """Both sides jump between two levels, one of them a little more often than not."""
    low, high = np.zeros(24), np.ones(24)
    one, other = np.concatenate([low, high, [1.0]]), np.concatenate([low, high, [0.0]])
    assert np.median(one) - np.median(other) == 1.0
    assert hodges_lehmann([(one, other)]) == 0.0


def test_differences_are_along_the_last_axis() -> None:
    one, other = np.arange(12.0).reshape(2, 2, 3), np.arange(8.0).reshape(2, 2, 2)
    found = differences(one, other)
    assert found.shape == (2, 2, 3, 2)
    assert found[1, 0, 2, 1] == one[1, 0, 2] - other[1, 0, 1]


def test_only_rounds_that_both_sides_have_count() -> None:
    one = by_round(np.array([1.0, 2.0, 9.0]), np.array([4, 4, 5]))
    other = by_round(np.array([7.0, 1.0]), np.array([3, 4]))
    assert {number: values.tolist() for number, values in one.items()} == {4: [1, 2], 5: [9]}
    assert module.hodges_lehmann(one, other) == 0.5
    assert module.hodges_lehmann({5: one[5]}, other) is None

"""The estimate of how far two contenders are apart in a contest."""

from itertools import product
from statistics import median

import numpy as np
import pytest

from analysis.stats import estimator
from analysis.stats.rounds import Floats, by_round

Rounds = list[tuple[Floats, Floats]]


def rounds(seed: int = 1, sizes: tuple[tuple[int, int], ...] = ((3, 4), (1, 2), (5, 5))) -> Rounds:
    random = np.random.default_rng(seed)
    return [(random.normal(2, 1, n), random.normal(1, 1, m)) for n, m in sizes]


def hodges_lehmann(sides: Rounds) -> float:
    one, other = (padded(side) for side in zip(*sides, strict=True))
    return float(estimator.hodges_lehmann(one, other))


def padded(rounds: tuple[Floats, ...]) -> Floats:
    numbers = np.repeat(np.arange(len(rounds)), [len(values) for values in rounds])
    return by_round(np.concatenate(rounds), numbers)


def swapped(sides: Rounds) -> Rounds:
    return [(other, one) for one, other in sides]


def test_it_is_the_median_of_all_differences_in_a_round() -> None:
    by_hand = median(a - b for one, other in rounds() for a, b in product(one, other))
    assert hodges_lehmann(rounds()) == pytest.approx(by_hand)
    assert hodges_lehmann([(np.array([5.0]), np.array([3.0]))]) == 2.0


def test_neither_side_is_favoured() -> None:
    assert hodges_lehmann(swapped(rounds())) == pytest.approx(-hodges_lehmann(rounds()))


def test_what_both_sides_felt_in_a_round_drops_out_and_a_difference_comes_in_whole() -> None:
    disturbed = [
        (one + felt + 0.25, other + felt)
        for (one, other), felt in zip(rounds(), (9, -4, 0), strict=True)
    ]
    assert hodges_lehmann(disturbed) == pytest.approx(hodges_lehmann(rounds()) + 0.25)


def test_a_jump_of_one_side_moves_it_less_than_a_ratio_of_medians() -> None:
    """Both sides jump between two levels, one of them a little more often than not."""
    low, high = np.zeros(24), np.ones(24)
    one, other = np.concatenate([low, high, [1.0]]), np.concatenate([low, high, [0.0]])
    assert np.median(one) - np.median(other) == 1.0
    assert hodges_lehmann([(one, other)]) == 0.0


def test_only_rounds_that_both_sides_have_count() -> None:
    one = by_round(np.array([9.0, 1.0, 2.0]), np.array([5, 4, 4]))
    other = by_round(np.array([7.0, 1.0]), np.array([3, 4]))
    assert one.shape == (6, 2) and other.shape == (5, 1)
    assert one[4].tolist() == [1, 2] and one[5, 0] == 9 and np.isnan(one[5, 1])
    assert estimator.hodges_lehmann(one, other) == 0.5
    assert np.isnan(estimator.hodges_lehmann(by_round(np.array([9.0]), np.array([5])), other))


def test_contests_are_estimated_one_by_one() -> None:
    """With and without gaps, an array of contests gives what each contest gives alone."""
    random = np.random.default_rng(2)
    one, other = random.normal(0, 1, (6, 5, 4)), random.normal(0, 1, (6, 5, 3))
    for gaps in (False, True):
        if gaps:
            one[random.random(one.shape) < 0.3] = np.nan
            one[2], one[3, 1:] = np.nan, np.nan
        found = estimator.hodges_lehmann(one, other)
        for place in range(6):
            differences = one[place][:, :, None] - other[place][:, None]
            known = differences[~np.isnan(differences)].tolist()
            assert np.isnan(found[place]) if not known else found[place] == median(known)

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from workflows.measure.schedule import orders


def deal(count, rounds, seed=1):
    return orders(count, rounds, np.random.default_rng(seed))


@pytest.mark.parametrize("count", range(1, 10))
@pytest.mark.parametrize("rounds", [1, 3, 8, 20])
def test_every_contender_runs_once_in_every_round(count, rounds):
    dealt = deal(count, rounds)
    assert len(dealt) == rounds
    assert all(sorted(order) == list(range(count)) for order in dealt)


@pytest.mark.parametrize("count", [2, 4, 6, 8, 10])
def test_one_square_balances_positions_and_predecessors(count):
    dealt = deal(count, count)
    for place in range(count):
        assert len({order[place] for order in dealt}) == count
    followers = Counter(pair for order in dealt for pair in pairwise(order))
    assert set(followers.values()) == {1}
    assert len(followers) == count * (count - 1)


@pytest.mark.parametrize("count", [3, 5, 7])
def test_an_odd_count_needs_a_pair_of_squares(count):
    dealt = deal(count, 2 * count)
    for place in range(count):
        assert set(Counter(order[place] for order in dealt).values()) == {2}
    followers = Counter(pair for order in dealt for pair in pairwise(order))
    assert set(followers.values()) == {2}


def test_the_seed_decides_the_order():
    assert deal(8, 8, seed=1) == deal(8, 8, seed=1)
    assert deal(8, 8, seed=1) != deal(8, 8, seed=2)


def test_every_contender_is_first_equally_often_over_many_contests():
    first = Counter(deal(4, 1, seed)[0][0] for seed in range(4000))
    assert all(900 < count < 1100 for count in first.values())

"""The check of steady state, on arrays."""

import math

import numpy as np
import pytest

from analysis.stats.drift import alone, change

NAN = math.nan


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([0.0, 1.0], 1.0),
        ([0.0, 5.0, 1.0], 1.0),  # the middle counts for neither
        ([0.0, 0.2, 9.0, 1.0, 1.2], 1.0),  # two of five are a third, rounded up
        ([0.0, 0.0, 3.0, 9.0, 9.0, 1.0, 1.0, 3.0], 1.0),  # one odd round of three moves nothing
        ([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], -1.0),
    ],
)
def test_change_is_the_last_third_over_the_first(rounds: list[float], expected: float) -> None:
    assert change(np.array(rounds)[:, None]) == pytest.approx(expected)


def test_change_is_of_medians_of_mini_batches() -> None:
    logs = np.zeros((2, 6, 3))
    logs[0, 4:] = [[0.1, 0.1, 7.0], [0.1, 0.1, 7.0]]
    logs[1, :2] = [[NAN, 0.2, 0.2], [NAN, NAN, 9.0]]
    assert change(logs) == pytest.approx([0.1, -0.2])


def test_one_round_has_no_change() -> None:
    assert np.isnan(change(np.zeros((4, 1, 3)))).all()
    assert np.isnan(change(np.zeros((4, 0, 3)))).all()


def test_a_third_without_a_mini_batch_has_no_change() -> None:
    logs = np.zeros((2, 6, 3))
    logs[1, :2] = NAN
    assert np.isnan(change(logs)).tolist() == [False, True]


def test_what_all_felt_cancels() -> None:
    changes = np.array([[0.5, 0.5, 0.7], [0.0, 0.1, 0.1]])
    assert alone(changes, range(3)) == pytest.approx(
        np.array([[-0.1, -0.1, 0.2], [-0.1, 0.05, 0.05]])
    )


def test_a_contender_is_not_among_its_others() -> None:
    changes = np.array([[9.0, 0.0, 0.0, 0.0]])
    assert alone(changes, range(4)) == pytest.approx(np.array([[9.0, 0.0, 0.0, 0.0]]))


def test_fewer_than_two_others_say_nothing() -> None:
    assert np.isnan(alone(np.array([[0.5, 0.0]]), range(2))).all()
    changes = np.array([[0.5, 0.0, 0.0], [0.5, 0.0, NAN]])
    assert np.isnan(alone(changes, range(3))).tolist() == [[False] * 3, [True] * 3]


def test_controls_are_no_others_and_have_others() -> None:
    changes = np.array([[0.0, 0.2, 0.4, 5.0, 5.0]])
    found = alone(changes, [0, 1, 2])
    assert found == pytest.approx(np.array([[-0.3, 0.0, 0.3, 4.8, 4.8]]))

"""Draws have the moments that were asked for."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.simulation.drawing import Deal, draw, positions
from benchmarks.simulation.noise import Noise, facts

LONG = Deal(warmup=0, rounds=1, turn=40, settle=0)


def drawn(noise: Noise, deal: Deal = LONG, contests: int = 3000, count: int = 2) -> np.ndarray:
    random = np.random.default_rng(11)
    return draw([noise] * count, [1.0] * count, deal, contests, random).astype(float)


def test_nothing_is_drawn_without_noise() -> None:
    assert np.abs(drawn(Noise(), contests=5)).max() < 1e-6


@pytest.mark.parametrize("cv", [0.01, 0.05, 0.17])
def test_noise_as_measured_on_a_cloud_machine(cv: float) -> None:
    """Process effects, intraclass correlation and autocorrelation, from covariances."""
    noise = replace(facts(cv, icc=0.2, lag1=0.36), contest=0, drift=0, cold=())
    logs = drawn(noise, contests=20_000)[:, 0]
    total = logs.var()
    assert total == pytest.approx(cv**2 / 0.2, rel=0.05)
    neighbours = np.mean(logs[:, 1:] * logs[:, :-1])
    assert (neighbours - cv**2) / (total - cv**2) == pytest.approx(0.36, abs=0.03)
    alone = drawn(replace(noise, batch=0, shift=0))
    assert alone.std() == pytest.approx(cv, rel=0.05)
    assert np.ptp(alone, axis=2).max() < 1e-6  # one draw a process


def test_autocorrelation_fades_geometrically() -> None:
    logs = drawn(Noise(batch=0.1, autocorrelation=0.6))
    assert logs.std() == pytest.approx(0.1, rel=0.02)
    for lag in (1, 2, 3):
        found = np.mean(logs[..., lag:] * logs[..., :-lag]) / logs.var()
        assert found == pytest.approx(0.6**lag, abs=0.02)


def test_contests_share_what_is_shared() -> None:
    logs = drawn(Noise(contest=0.2))
    assert logs.std() == pytest.approx(0.2, rel=0.05)
    assert np.abs(logs[:, 0] - logs[:, 1]).max() < 1e-6


def test_level_shifts_come_at_their_rate_and_have_their_size() -> None:
    logs = drawn(Noise(shift=0.3, shifts=0.05))
    assert logs.std() == pytest.approx(0.3, rel=0.05)
    assert np.mean(np.diff(logs, axis=2) != 0) == pytest.approx(0.05, abs=0.003)


def test_drift_is_a_walk_that_all_share() -> None:
    deal = Deal(warmup=1, rounds=8, turn=1, settle=0)
    logs = drawn(Noise(drift=0.1), deal, count=4, contests=4000)
    steps = 4 * np.arange(9) + 2.5  # turns so far, on average over positions
    assert logs.var(axis=(0, 1)) == pytest.approx(0.01 * steps, rel=0.1)
    apart = logs[:, 0] - logs[:, 1]
    # two positions of four are 5/3 turns apart on average
    assert apart.var(axis=0) == pytest.approx(np.full(9, 0.01 * 5 / 3), rel=0.1)


def test_turns_and_tails() -> None:
    deal = Deal(warmup=0, rounds=8, turn=3, settle=0)
    logs = drawn(Noise(turn=0.1, turn_tails=2.0), deal).reshape(-1, 3)
    assert np.ptp(logs, axis=1).max() < 1e-6
    # Student's t with two degrees of freedom: quartile 0.8165, 97.5 % quantile 4.3027
    inside, outside = np.quantile(np.abs(logs[:, 0]), [0.5, 0.95])
    assert inside == pytest.approx(0.08165, rel=0.03)
    assert outside == pytest.approx(0.43027, rel=0.05)


def test_tails_are_of_the_contender_that_has_them() -> None:
    random = np.random.default_rng(5)
    noises = [Noise(batch=0.1), Noise(batch=0.1, batch_tails=3.0)]
    logs = draw(noises, [1.0, 1.0], LONG, 3000, random)
    kurtosis = [float(np.mean(own**4) / np.mean(own**2) ** 2) for own in logs.transpose(1, 0, 2)]
    assert kurtosis[0] == pytest.approx(3, abs=0.1)
    assert kurtosis[1] > 5


def test_interruptions_weigh_more_on_who_is_faster() -> None:
    random = np.random.default_rng(5)
    noise = Noise(spikes=0.1, spike=0.5)
    logs = draw([noise, noise], [1.0, 0.1], LONG, 3000, random).astype(float)
    excess = np.exp(logs) - np.array([1.0, 0.1])[:, None]
    assert np.mean(excess > 1e-6, axis=(0, 2)) == pytest.approx([0.1, 0.1], abs=0.01)
    assert excess.mean(axis=(0, 2)) == pytest.approx([0.05, 0.05], rel=0.05)


def test_beginnings_are_slower() -> None:
    noise = Noise(warmup=(3.0, 1.0), cold=(0.3, 0.1))
    logs = drawn(noise, Deal(warmup=3, rounds=2, turn=3, settle=2), contests=1)[0, 0]
    assert logs == pytest.approx([3, 1, 0, 0.3, 0.1, 0, 0.3, 0.1, 0], abs=1e-6)


def test_orders_are_balanced_as_in_a_contest() -> None:
    order = positions(8, 8, 50, np.random.default_rng(3))[..., 1:]
    assert order.shape == (50, 8, 8)
    everybody = np.arange(8)
    assert (np.sort(order, axis=1) == everybody[:, None]).all()  # each round has every position
    assert (np.sort(order, axis=2) == everybody).all()  # each contender is everywhere once
    for contest in order:
        turns = np.argsort(contest, axis=0).T
        followed = {(a, b) for turn in turns for a, b in pairwise(turn)}
        assert len(followed) == 8 * 7  # and follows each other one once
    assert not (order[0] == order[1]).all()

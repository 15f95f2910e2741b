"""Steady state is found where it is, and missed where there is none. All rates, for every size,
length and scatter: `python -m tests.analysis.warmup_rates`."""

import math

import numpy as np
import pytest

from analysis.steady_state.changepoints import scatter, segments, without_spikes
from analysis.steady_state.classify import detect
from tests.analysis.warmup_rates import (
    LENGTH,
    MARGIN,
    STARTING,
    UNSTEADY,
    false_alarms,
    noise,
    rate,
)

# The smallest change that is found in 95 % of processes as long as a default study's, by scatter.
FOUND = {
    ("step down", 0.02): 0.1, ("step up", 0.02): 0.1, ("decay", 0.02): 0.15,
    ("late change", 0.02): 0.1, ("cycle", 0.02): 0.15, ("drift", 0.02): 0.2,
    ("step down", 0.05): 0.15, ("step up", 0.05): 0.15, ("decay", 0.05): 0.3,
    ("late change", 0.05): 0.15, ("cycle", 0.05): 0.5, ("drift", 0.05): 0.5,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "cv"), FOUND)
def test_changes_are_found(kind: str, cv: float) -> None:
    """Starts within five mini-batches, no steady state recalled."""
    maker = {**STARTING, **UNSTEADY}[kind]
    assert rate(maker, LENGTH, cv, FOUND[kind, cv], repetitions=300) >= 0.95


@pytest.mark.parametrize("cv", [0.02, 0.05])
def test_flat_processes_are_flat(cv: float) -> None:
    assert false_alarms(LENGTH, cv, repetitions=300) <= 0.05


def test_a_tripled_level_at_the_end_is_no_steady_state_at_any_length() -> None:
    for n in (15, 37, LENGTH, 100, 300):
        series = noise(np.random.default_rng(n), n, 0.02)
        series[int(0.8 * n) :] += math.log(3)
        assert detect(series, MARGIN).kind == "no steady state"


def test_a_slow_first_step_is_warm_up_of_one() -> None:
    series = noise(np.random.default_rng(1), LENGTH, 0.02)
    series[0] += math.log(40)
    found = detect(series, MARGIN)
    assert found.kind == "warm-up" and 1 <= found.start <= 3


def test_what_is_smaller_than_the_margin_does_not_matter() -> None:
    """However sure it is."""
    series = 0.1 * noise(np.random.default_rng(1), 100, 0.02)
    series[:30] += 0.02
    assert detect(series, MARGIN) == ("flat", 0)
    assert detect(series, 0.01) == ("warm-up", 30)


def test_a_burst_that_comes_back_does_not_move_the_start() -> None:
    series = noise(np.random.default_rng(2), 37, 0.02)
    series[16:20] += math.log(2)
    assert detect(series, MARGIN) == ("flat", 0)
    series[26:30] += math.log(2)
    series[5:9] += math.log(2)
    assert detect(series, MARGIN).start > 26


def test_too_few_mini_batches_have_no_class() -> None:
    assert detect(np.zeros(11), MARGIN).kind == "too short"
    assert detect(np.zeros(12), MARGIN).kind == "flat"


def test_single_spikes_are_no_segments() -> None:
    series = noise(np.random.default_rng(3), 60, 0.02)
    quiet = scatter(np.diff(series))
    series[[10, 25, 50]] += 1.0
    assert segments(without_spikes(series, quiet.sd), quiet).bounds == [0, 60]


def test_scatter_is_not_moved_by_a_change_of_level() -> None:
    series = noise(np.random.default_rng(4), 300, 0.03)
    before = scatter(np.diff(series)).sd
    series[150:] += 1.0
    assert scatter(np.diff(series)).sd == pytest.approx(before, rel=0.02)
    assert before == pytest.approx(0.03, rel=0.25)  # of the middle of t, without its tails


def test_turns_that_differ_raise_the_inflation() -> None:
    differences = np.diff(noise(np.random.default_rng(5), 100, 0.02))
    alone, turns = scatter(differences), scatter(differences, sd_of_turns=0.05, turn=4)
    assert turns.sd == alone.sd
    assert turns.inflation == pytest.approx(4 * (0.05 / alone.sd) ** 2) and turns.inflation > 10

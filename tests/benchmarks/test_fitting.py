"""Fitting recovers what records were drawn from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulation.fitting import checks, fit
from benchmarks.simulation.noise import NORMAL, Fit, Noise
from benchmarks.simulation.recorded import tails
from tests.analysis.synthetic import Recipe
from tests.benchmarks.records import simulated
from workflows.records.storage import RecordError

RECIPE = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=50, rounds=12, turn=8)
BASE = Noise(
    process=0.05,
    contest=0.08,
    batch=0.02,
    autocorrelation=0.4,
    cold=(0.10, 0.03),
    warmup=(2.0, 0.5, 0.2, 0.1, 0.05),
)


def fitted(folder: Path, noise: Noise, recipe: Recipe = RECIPE) -> list[Fit]:
    machine, _ = simulated(folder, recipe, [noise] * len(recipe.contenders))
    return fit(machine)


def middle(fits: list[Fit], name: str) -> float:
    return float(np.median([getattr(each.noise, name) for each in fits]))


def test_what_each_kind_of_noise_leaves(tmp_path: Path) -> None:
    fits = fitted(tmp_path, BASE)
    assert [each.contender for each in fits] == sorted(c.name for c in RECIPE.contenders)
    assert {(each.workload, each.replicates) for each in fits} == {("mnist-cnn", 50)}
    assert middle(fits, "process") == pytest.approx(0.05, rel=0.2)
    assert middle(fits, "contest") == pytest.approx(0.08, rel=0.25)
    assert middle(fits, "batch") == pytest.approx(0.02, rel=0.1)
    assert middle(fits, "autocorrelation") == pytest.approx(0.4, abs=0.1)
    assert middle(fits, "batch_tails") > 10
    assert middle(fits, "turn") < 0.006 and middle(fits, "drift") < 0.001
    assert middle(fits, "spikes") < 0.002
    for each in fits:
        assert each.noise.cold == pytest.approx((0.10, 0.03), abs=0.005)
        assert each.noise.warmup == pytest.approx(BASE.warmup, abs=0.02)


def test_drift_that_all_share(tmp_path: Path) -> None:
    fits = fitted(tmp_path, replace(BASE, drift=0.02))
    assert middle(fits, "drift") == pytest.approx(0.02, rel=0.25)


def test_turns_that_stand_alone(tmp_path: Path) -> None:
    fits = fitted(tmp_path, replace(BASE, turn=0.06))
    assert middle(fits, "turn") == pytest.approx(0.06, rel=0.2)
    assert middle(fits, "drift") < 0.006


def test_levels_that_last(tmp_path: Path) -> None:
    """Shifts and turns together are what a turn differs by from the next."""
    fits = fitted(tmp_path, replace(BASE, process=0.0, shift=0.06, shifts=0.04))
    assert middle(fits, "shift") == pytest.approx(0.06, rel=0.4)
    assert 0.01 < middle(fits, "shifts") < 0.1
    assert middle(fits, "process") < 0.025


def test_interruptions(tmp_path: Path) -> None:
    fits = fitted(tmp_path, replace(BASE, spikes=0.03, spike=1.0))
    # those of less than some five standard deviations, one in eight, pass as ordinary
    assert middle(fits, "spikes") == pytest.approx(0.026, abs=0.006)
    assert middle(fits, "spike") == pytest.approx(1.0, rel=0.25)
    assert middle(fits, "batch") == pytest.approx(0.02, rel=0.15)


def test_contenders_keep_their_own(tmp_path: Path) -> None:
    noises = [replace(BASE, process=size, contest=0) for size in (0.01, 0.03, 0.06, 0.12)]
    machine, _ = simulated(tmp_path, RECIPE, noises)
    found = {each.contender: each.noise.process for each in fit(machine)}
    sizes = [found[contender.name] for contender in RECIPE.contenders]
    assert sizes == sorted(sizes)
    assert sizes[3] == pytest.approx(0.12, rel=0.3)


@pytest.mark.parametrize("freedom", [2.0, 3.0, 6.0])
def test_tails_of_known_distributions(freedom: float) -> None:
    values = stats.t.ppf(np.linspace(0.0005, 0.9995, 2001), freedom)
    assert tails(values) == pytest.approx(freedom, rel=0.1)


def test_a_normal_has_no_tails() -> None:
    assert tails(stats.norm.ppf(np.linspace(0.0005, 0.9995, 2001))) == NORMAL


def test_what_was_fitted_looks_like_what_it_was_fitted_to(tmp_path: Path) -> None:
    noise = replace(BASE, turn=0.02, drift=0.005)
    machine, _ = simulated(tmp_path, RECIPE, [noise] * 4)
    for check in checks([machine], fit(machine)):
        assert check.simulated == pytest.approx(check.recorded, rel=0.25), check.what


def test_one_replicate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no contender has two replicates"):
        fitted(tmp_path, BASE, replace(RECIPE, replicates=1))


def test_contests_that_were_dealt_differently_are_refused(tmp_path: Path) -> None:
    machine, _ = simulated(tmp_path, replace(RECIPE, replicates=3), [BASE] * 4)
    rows = machine.batches
    shorter = rows[(rows["replicate"] != 2) | (rows["round"] < 12)]
    with pytest.raises(RecordError, match="mnist-cnn have 11 to 12 rounds"):
        fit(replace(machine, batches=shorter))

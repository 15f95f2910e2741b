"""The search for steady state in simulated studies is that of the report."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.findings.findings import Findings
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.judging import log_ratios
from benchmarks.simulation.noise import COMMITTED, Fits, facts
from benchmarks.simulation.procedures import search, searched
from tests.analysis.synthetic import Recipe
from tests.benchmarks.records import simulated
from workflows.records.storage import read_json

CORES = ((0, 2, 4, 6), (1, 3, 5, 7))  # a recipe's contenders on one thread, and on two


def test_ratios_and_starts_are_those_of_the_report(tmp_path: Path) -> None:
    recipe = Recipe(workloads=("mlp",), replicates=4)
    noise = replace(facts(0.05), warmup=(1.0, 0.5, 0.3, 0.2, 0.2))
    machine, drawn = simulated(tmp_path, recipe, [noise] * len(recipe.contenders))
    deal, names = Deal(rounds=recipe.rounds), [one.name for one in recipe.contenders]
    steady, starts = search(drawn["mlp"], deal, CORES)
    findings = Findings(machine)
    for seat in findings.measured:
        own = [findings.steady_state.starts.get((seat, r), np.nan) for r in range(1, 5)]
        mine = starts[:, names.index(seat.contender)]
        assert own == pytest.approx(mine.tolist(), nan_ok=True)
    rows = [row for row in findings.comparisons if row.estimate.ratio]
    assert rows
    for row in rows:
        sides = [
            f"{name}/{row.id.variant}/cpu/{row.id.threads}"
            for name in (row.id.framework, row.reference)
        ]
        one, other = (names.index(side) for side in sides)
        found = log_ratios(drawn["mlp"], deal, [(one, other)], steady)
        assert np.exp(found.mean()) == pytest.approx(row.estimate.ratio, rel=1e-5)
    assert (starts > 0).mean() > 0.8  # the warm-up that was planted is found


def test_a_late_change_is_no_steady_state() -> None:
    deal = Deal()
    logs = draw([facts(0.02)] * 4, [1.0] * 4, deal, 6, np.random.default_rng(1))
    logs[:, 0, deal.round > 5 * deal.rounds // 6] += 0.5
    _, starts = search(logs, deal, [range(4)])
    assert np.isnan(starts[:, 0]).mean() > 0.8 and np.isnan(starts[:, 1:]).mean() < 0.2


def test_rates_of_a_few_studies() -> None:
    heard: list[int] = []
    fits = [fit.noise for fit in read_json(COMMITTED, Fits).fits]
    found = searched(fits, 4, heard.append)
    assert heard == [0, 1, 2, 3]
    assert found.never.of == found.later.of == 4 * 20 * found.replicates
    assert found.withheld.of == 80 and 24 <= found.coverage.of <= 48
    assert found.false.share + found.coverage.share == pytest.approx(1.0)


def test_a_side_that_starts_late_is_not_held_against_other_weather() -> None:
    fits = [fit.noise for fit in read_json(COMMITTED, Fits).fits]
    found = searched(fits, 12, lambda study: None, late=0.3)
    calm = searched(fits, 12, lambda study: None)
    assert found.later.share > calm.later.share + 0.3  # four of ten are planted, in round three
    assert found.coverage.share > 0.85 and found.withheld.share < 0.1

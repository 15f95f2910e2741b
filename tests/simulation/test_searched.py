"""The search for steady state in simulated studies is that of the report."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.simulation.conditions import facts
from analysis.simulation.drawing import Deal, draw
from analysis.simulation.noise import COMMITTED, Fits
from analysis.simulation.searched import levels, searched
from analysis.tables import Findings
from tests.analysis.synthetic import Recipe
from tests.simulation.records import MS, simulated
from workflows.storage import read_json


def test_medians_and_starts_are_those_of_the_report(tmp_path: Path) -> None:
    recipe = Recipe(workloads=("mlp",), replicates=4)
    noise = replace(facts(0.05), warmup=(1.0, 0.5, 0.3, 0.2, 0.2))
    machine, drawn = simulated(tmp_path, recipe, [noise] * len(recipe.contenders))
    found, starts = levels(drawn["mlp"], Deal(rounds=recipe.rounds))
    findings = Findings(machine)
    seen = 0
    for place, contender in enumerate(recipe.contenders):
        for seat, rows in findings.measured.items():
            if seat.contender == contender.name:
                own = [findings.found.starts.get((seat, r), np.nan) for r in rows.index]
                assert own == pytest.approx(starts[:, place].tolist(), nan_ok=True)
                median = np.log(rows["median"].to_numpy() / MS)
                assert median == pytest.approx(found[:, place], abs=1e-5)
                seen += 1
    assert seen == len(recipe.contenders)
    assert (starts > 0).mean() > 0.8  # the warm-up that was planted is found


def test_a_late_change_is_no_steady_state() -> None:
    deal = Deal()
    logs = draw([facts(0.02)] * 4, [1.0] * 4, deal, 6, np.random.default_rng(1))
    logs[:, 0, deal.round > 4] += 0.5
    _, starts = levels(logs, deal)
    assert np.isnan(starts[:, 0]).mean() > 0.8 and np.isnan(starts[:, 1:]).mean() < 0.2


def test_rates_of_a_few_studies() -> None:
    heard: list[int] = []
    fits = [fit.noise for fit in read_json(COMMITTED, Fits).fits]
    found = searched(fits, 4, heard.append)
    assert heard == [0, 1, 2, 3]
    assert found.never.of == found.later.of == 4 * 16 * found.replicates
    assert found.withheld.of == 64 and 16 <= found.coverage.of <= 32
    assert found.false.share + found.coverage.share == pytest.approx(1.0)

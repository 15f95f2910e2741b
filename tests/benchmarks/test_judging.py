"""What judges simulated studies is what judges real ones."""

from pathlib import Path

import numpy as np
import pytest

from analysis.data.processes import by_benchmark, logs, paired, processes, sound
from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.stats.inference import student, students
from benchmarks.simulation.drawing import Deal
from benchmarks.simulation.judging import concluded, judge, log_ratios, medians
from benchmarks.simulation.noise import facts
from tests.analysis.synthetic import Recipe
from tests.benchmarks.records import MS, simulated


def test_students_is_student_of_every_row() -> None:
    rows = np.random.default_rng(1).normal(0.1, 0.2, (20, 5))
    rows[3], rows[4] = 0.0, 0.1 + 0.2
    for place, row in enumerate(rows):
        one = student(row.tolist(), 0.95)
        wanted = (one.mean, one.sd, one.low, one.high, one.p)
        assert tuple(part[place] for part in students(rows, 0.95)) == pytest.approx(wanted)


@pytest.mark.parametrize("turn", [6, 7])  # an even and an odd number of steady mini-batches
def test_the_median_is_that_of_processes(tmp_path: Path, turn: int) -> None:
    recipe = Recipe(turn=turn, rounds=7, replicates=3)
    machine, drawn = simulated(tmp_path, recipe, [facts(0.1)] * 8)
    found = by_benchmark(processes(sound(machine)))
    for workload, own in drawn.items():
        mine = medians(own, Deal(rounds=7, turn=turn)) + np.log(MS)
        for place, contender in enumerate(recipe.contenders):
            theirs = logs(found[BenchmarkId.of(workload, contender)])
            assert mine[:, place] == pytest.approx(theirs.to_numpy(), abs=2e-6)


@pytest.mark.parametrize("turn", [6, 7])
def test_log_ratios_are_those_of_pairs(tmp_path: Path, turn: int) -> None:
    recipe = Recipe(turn=turn, rounds=7, replicates=3)
    machine, drawn = simulated(tmp_path, recipe, [facts(0.1)] * 8)
    found = by_benchmark(processes(sound(machine)))
    for workload, own in drawn.items():
        seats = [found[BenchmarkId.of(workload, contender)] for contender in recipe.contenders]
        pairs = [(0, 1), (5, 2)]
        mine = log_ratios(own, Deal(rounds=7, turn=turn), pairs)
        for place, (one, other) in enumerate(pairs):
            theirs = paired(seats[one], seats[other])
            assert mine[:, place] == pytest.approx(theirs.to_numpy(), abs=2e-6)


@pytest.mark.parametrize("cv", [0.003, 0.03])
def test_verdicts_are_those_of_the_report(tmp_path: Path, cv: float) -> None:
    """Ratio, interval, p, Holm's p and verdict of every row of a whole study, with the rows in
    the order of the report."""
    recipe = Recipe(replicates=5)
    machine, drawn = simulated(tmp_path, recipe, [facts(cv)] * 8, seed=7)
    rows = [row for row in Findings(machine).comparisons if row.estimate.ratio]
    assert len(rows) == 8
    names = [contender.name for contender in recipe.contenders]
    deal, ratios = Deal(rounds=recipe.rounds), []
    for row in rows:
        pair = tuple(
            names.index(f"{framework}/{row.id.variant}/{row.id.device}/{row.id.threads}")
            for framework in (row.id.framework, row.reference)
        )
        ratios.append(log_ratios(drawn[row.id.workload], deal, [pair])[:, 0])
    mine = judge(np.array(ratios).T[None])
    said, adjusted = concluded(mine)
    for place, row in enumerate(rows):
        assert np.exp(mine.mean[0, place]) == pytest.approx(row.estimate.ratio, rel=1e-5)
        assert np.exp(mine.low[0, place]) == pytest.approx(row.estimate.ratio_low, rel=1e-5)
        assert np.exp(mine.high[0, place]) == pytest.approx(row.estimate.ratio_high, rel=1e-5)
        assert np.exp(mine.tost_low[0, place]) == pytest.approx(row.estimate.tost_low, rel=1e-5)
        assert mine.p[0, place] == pytest.approx(row.estimate.p, rel=1e-3)
        assert adjusted[0, place] == pytest.approx(row.estimate.p_adjusted, rel=1e-3)
        assert said[0, place] == row.estimate.verdict

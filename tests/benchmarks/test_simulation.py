"""The simulation's page is of its results, its results are of the records, and its parts find what
was planted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmarks.simulation import moving
from benchmarks.simulation.__main__ import PAGE, RESULTS, main
from benchmarks.simulation.judging import (
    CONFIDENCE,
    DESIGNS,
    MARGIN,
    covered,
    judge,
    naive,
    simulated,
)
from benchmarks.simulation.noise import fit, residuals, scatter, windows
from benchmarks.simulation.page import document, failures
from benchmarks.simulation.records import Design, Floats, Occasion, RecordedStudy, log_ratios, read
from benchmarks.simulation.results import Rate, Results
from benchmarks.simulation.run import run
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT
from workflows.records.storage import RecordError, read_json

DESIGN = Design(rounds=12, turn=6, discard=2)
HERE = Occasion("here", "processor", "2026-11-22")


@pytest.fixture(scope="module")
def found() -> Results:
    return read_json(RESULTS, Results)


@pytest.mark.all
def test_the_page_is_of_the_results_and_they_are_of_the_records(
    found: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (ROOT / PAGE).read_text() == document(found)
    monkeypatch.chdir(ROOT)
    studies = read([Path(folder) for folder in found.folders])
    again = simulated(fit(studies, DESIGNS["default"][0]), "default", 5, found.studies)
    (committed,) = [c for c in found.cells if (c.design, c.replicates) == ("default", 5)]
    assert covered(again).share == pytest.approx(committed.coverage.share, abs=1e-9)
    reach = np.exp(np.log((again.high - again.low) / 2).mean())
    assert np.expm1(reach) == pytest.approx(committed.half_width, rel=1e-9)


def test_the_committed_designs_cover_the_truth_and_are_those_of_the_configurations(
    found: Results,
) -> None:
    assert failures(found) == []
    default = yaml.safe_load((ROOT / "config/study.yaml").read_text())
    assert (default["confidence"], default["margin"]) == (CONFIDENCE, MARGIN)
    reference = yaml.safe_load((ROOT / "config/reference.yaml").read_text())
    design, replicates = DESIGNS["default"]
    assert {key: default["contest"][key] for key in ("rounds", "turn", "discard")} == vars(design)
    assert "contest" not in reference and reference["replicates"] in replicates


def test_a_design_that_misses_the_truth_too_often_is_told(found: Results) -> None:
    low = found.cells[0].model_copy(update={"coverage": Rate(share=0.94, low=0.939, high=0.941)})
    worse = found.model_copy(update={"cells": [low]})
    assert failures(worse) == [
        "default, 5 replicates: coverage is 94.0 % [93.9, 94.1], not within 94 to 96 %"
    ]
    assert f"- {failures(worse)[0]}" in document(worse)


def planted(
    life: Floats, random: np.random.Generator, batch: float = 0.01, occasion: Occasion = HERE
) -> RecordedStudy:
    """A study of two contenders, of which one has `life` (contests,) over the other."""
    logs = batch * random.standard_normal((len(life), 2, DESIGN.rounds, DESIGN.places))
    logs[:, 1] += np.asarray(life)[:, None, None]
    return RecordedStudy("planted", "2026", occasion, DESIGN, ["one"], [(1, 0)], logs)


def test_windows_are_runs_of_rounds_of_the_recorded_contest() -> None:
    study = planted(np.zeros(3), np.random.default_rng(1))
    found = windows(study, DESIGNS["default"][0])
    assert found.shape == (3, 5, 1)
    third = log_ratios(study.logs[:, :, 2:10, :3], study.compared)
    assert found[:, 2] == pytest.approx(third)
    assert windows(study, Design(20, 6, 2)).shape == (3, 1, 1)  # no more rounds than there were


def test_the_noise_has_the_size_and_the_odd_processes_of_the_records() -> None:
    random = np.random.default_rng(2)
    life = 0.03 * random.standard_normal(200)
    life[::20] += 0.5
    noise = fit([planted(life, random)], DESIGN)
    drawn = noise.draw(2000, 5, random)
    assert drawn.mean() == pytest.approx(0.0, abs=0.005)
    assert drawn.std() == pytest.approx(life.std(), rel=0.05)
    assert (drawn > 0.3).mean() == pytest.approx(0.05, abs=0.01)


def test_each_occasion_keeps_its_size() -> None:
    random = np.random.default_rng(3)
    there = HERE._replace(machine="there")
    studies = [
        planted(0.01 * random.standard_normal(100), random, batch=0.001),
        planted(0.1 * random.standard_normal(300), random, batch=0.001, occasion=there),
    ]
    noise = fit(studies, DESIGN)
    assert noise.sizes[:, 0] == pytest.approx([0.01, 0.1], rel=0.15)
    assert noise.weights == pytest.approx([0.25, 0.75])
    assert (noise.shapes**2).mean() == pytest.approx(1.0)


def test_residuals_keep_the_variance_that_the_mean_hides() -> None:
    values = np.random.default_rng(4).standard_normal((5, 20_000))
    assert (residuals(values) ** 2).mean() == pytest.approx(1.0, rel=0.02)


def test_tails_are_seen() -> None:
    random = np.random.default_rng(5)
    normal = [random.standard_normal((8, 12)) for _ in range(100)]
    odd = [study + 8 * (random.random(study.shape) < 0.03) for study in normal]
    calm, wild = scatter("normal", normal), scatter("odd", odd)
    assert calm.beyond_three < 0.006 and calm.kurtosis == pytest.approx(3, abs=0.3)
    assert wild.beyond_four == pytest.approx(0.03, abs=0.01) and wild.kurtosis > 6


def test_intervals_cover_a_normal_truth_and_verdicts_follow_the_true_ratio() -> None:
    judged = judge(0.01 * np.random.default_rng(6).standard_normal((4000, 5, 2)))
    coverage = covered(judged)
    assert coverage.low < 0.95 < coverage.high < coverage.share + 0.01
    assert covered(judged, 0.2).share < 0.001
    assert judged.verdicts(1.0)["equivalent"].share > 0.95
    assert judged.verdicts(1.05)["equivalent"].share == pytest.approx(0.05, abs=0.01)
    assert judged.verdicts(1.2)["slower"].share > 0.99
    assert judged.verdicts(1 / 1.2)["faster"].share > 0.99


def test_hours_and_days_differ_as_planted() -> None:
    random = np.random.default_rng(7)
    studies = []
    for day in range(30):
        host = 0.2 * random.standard_normal()
        for _ in range(4):
            life = host + 0.05 * random.standard_normal() + 0.02 * random.standard_normal(8)
            studies.append(planted(life, random, occasion=Occasion("here", "", f"day {day}")))
    sd = moving.spreads(studies)
    assert sd[moving.HOUR] == pytest.approx(0.05, rel=0.15)
    assert sd[moving.START] == sd[moving.HOST] == pytest.approx(0.2, rel=0.3)


def test_recorded_intervals_are_held_against_other_studies() -> None:
    random = np.random.default_rng(8)
    near = [planted(0.01 * random.standard_normal(8), random) for _ in range(2)]
    far = planted(0.3 + 0.01 * random.standard_normal(8), random)
    assert moving.captured(near, moving.HOUR) == (2, 2)
    assert moving.captured([*near, far], moving.HOUR) == (2, 6)
    assert moving.captured([*near, far], moving.HOST) == (0, 0)


def test_counting_mini_batches_fails_where_processes_differ() -> None:
    random = np.random.default_rng(9)
    studies = [planted(0.1 * random.standard_normal(8), random, batch=0.05) for _ in range(20)]
    single, pooled, medians = naive(studies)
    assert (single.tests, pooled.tests, medians.tests) == (20 * 28 * 2, 40, 40)
    assert single.found / single.tests > 0.3 and pooled.found > medians.found
    calm = [planted(np.zeros(8), random) for _ in range(20)]
    assert naive(calm)[0].found / naive(calm)[0].tests == pytest.approx(0.05, abs=0.03)


def test_one_occasion_says_nothing_about_others() -> None:
    random = np.random.default_rng(10)
    studies = [planted(0.01 * random.standard_normal(8), random) for _ in range(2)]
    found = run(studies, 100)
    assert [row.where for row in found.moved] == [moving.HOUR]
    assert (found.predicted, found.held_out) == ([], (0, 0))
    assert "means of an occasion" not in document(found)
    assert "Another hour" not in document(run(studies[:1], 100))


def test_studies_with_other_comparisons_do_not_belong_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = planted(np.zeros(3), np.random.default_rng(1))
    other = replace(one, names=["other"], compared=one.compared[:1])
    several = iter([one, other])
    monkeypatch.setattr("benchmarks.simulation.records.study", lambda _: next(several))
    with pytest.raises(RecordError, match="planted has no comparison that all others have"):
        read([Path("one"), Path("other")])


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
    one = write(tmp_path / "one", Recipe(replicates=2)) / "records.json"
    values = json.loads(one.read_text())
    del values["study"]["configuration"]["contest"]
    one.write_text(json.dumps(values))
    assert main([str(one.parent)]) == 2
    assert "study.configuration: without contest, which every" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--studies", "20"])
    assert "too few, 100 at least are needed" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--results"])
def test_what_cannot_be_written_is_said_before_anything_is_simulated(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--out", str(tmp_path / "a.md"), "--results", str(tmp_path / "a.json")]
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr("benchmarks.simulation.records.read", lambda folders: pytest.fail("begun"))
    with pytest.raises(OSError, match="this is no file"):
        main(["folder", *options, option, str(tmp_path / "folder")])
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_more_studies_than_fit_in_memory_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--studies", str(10**12)])
    assert "is too many" in capsys.readouterr().err

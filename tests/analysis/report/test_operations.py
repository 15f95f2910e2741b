"""By operation: the table, the sentences and the figure, from made-up profiles."""

import csv
from pathlib import Path

import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings, tables
from analysis.findings.speed.operations import OPERATIONS, profiles
from analysis.report.figures.measuring.operations import operations as figure
from analysis.report.figures.style import Theme
from analysis.report.page import write
from analysis.report.sections.measuring.operations import largest
from frameworks import operations as o
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write as write_records

# Seconds of a step, by contender and workload.
SPENT = {
    ("mlp", "pytorch/default"): {o.PRODUCT: 0.03, o.OPTIMISER: 0.08, o.DISPATCH: 0.01},
    ("mlp", "pytorch/tuned"): {o.PRODUCT: 0.04, o.OPTIMISER: 0.02},
    ("mlp", "tensorflow/default"): {o.OPTIMISER: 0.06, "of another samestep": 0.04},
    ("mnist-cnn", "pytorch/default"): {
        o.POOLING: 0.009, o.FORWARD: 0.006, o.BACKWARD: 0.008, o.UNACCOUNTED: 0.002,
    },
    ("mnist-cnn", "pytorch/tuned"): {o.FORWARD: 0.01, o.POOLING: 0.01, o.COPIES: 0.02},
    ("mnist-cnn", "tensorflow/default"): {o.DATA: 0.004, o.WEIGHTS: 0.004, o.POOLING: 0.005},
}  # fmt: skip
WHY = "its adapter offers no profile"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    recipe = Recipe(replicates=2, threads=(1,))
    folder = write_records(tmp_path_factory.mktemp("profiled") / "machine", recipe)
    (machine,) = load([folder])
    for contest in machine.records.contests:
        for one in contest.contenders:
            key = (contest.workload, f"{one.framework}/{one.variant}")
            if contest.replicate == 1 and one.device == "cpu":
                one.operations = SPENT.get(key, {})
                one.unprofiled = "" if one.operations else WHY
    return Findings(machine)


def test_shares_add_up_and_unknown_categories_are_unaccounted(profiled: Findings) -> None:
    rows = list(csv.DictReader(tables([profiled])["operations"].splitlines()))
    assert list(rows[0]) == OPERATIONS.columns
    own = {
        row["operation"]: (float(row["ms"]), float(row["share"]))
        for row in rows
        if (row["workload"], row["framework"]) == ("mlp", "tensorflow")
    }
    assert own == {o.OPTIMISER: (60, 0.6), o.UNACCOUNTED: (40, 0.4)}
    for profile in profiles(profiled):
        assert sum(profile.shares.values()) == pytest.approx(1)


def test_each_contender_has_a_sentence_on_its_largest_part(profiled: Findings) -> None:
    said = [text.split(": the largest part of a step is ") for text in largest(profiles(profiled))]
    assert said == [
        ["PyTorch", "the optimiser on the MLP (67 %) and convolutions on the MNIST CNN (56 %), "
         "with 1 thread."],
        ["TensorFlow", "the optimiser on the MLP (60 %) and convolutions on the MNIST CNN (62 %), "
         "with 1 thread."],
        ["PyTorch, tuned", "matrix products on the MLP (67 %) and copies on the MNIST CNN (50 %), "
         "with 1 thread."],
    ]  # fmt: skip


def test_the_report_has_the_section_and_says_that_no_ratio_rests_on_it(
    profiled: Findings, tmp_path: Path
) -> None:
    drawn = figure(profiled, Theme.of(profiled.matched), "operations")
    assert drawn and "67 %" in drawn.finding and "hatch" not in drawn.finding
    assert len(drawn.finding.split()) <= 30 and len(drawn.caption.split()) <= 40
    for name in (o.PRODUCT, o.OPTIMISER, o.UNACCOUNTED):
        assert name in drawn.svg
    write([profiled.machine], tmp_path)
    for name in ("report.md", "report.html"):
        page = (tmp_path / name).read_text()
        assert "By operation" in page and "No ratio rests on it" in page
        assert WHY in page
    assert (tmp_path / "figures/operations.svg").exists()


def test_without_profiles_there_is_no_section(findings: Findings, tmp_path: Path) -> None:
    assert profiles(findings) == [] and "operations" not in tables([findings])
    assert figure(findings, Theme.of(findings.matched), "operations") is None
    write([findings.machine], tmp_path)
    assert "By operation" not in (tmp_path / "report.html").read_text()

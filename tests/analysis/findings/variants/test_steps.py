"""What tuning is made of, from made-up records whose steps gain what is known."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.findings.findings import Findings
from analysis.report.figures.comparing.steps import tuning_steps
from analysis.report.figures.style import Theme
from analysis.report.first.grid import matrix
from analysis.report.first.sentences import sentences
from analysis.report.page import write
from analysis.report.sections.comparing.steps import chains, step_table, summary
from tests.analysis.recipe import Recipe

RECIPE = Recipe(
    frameworks=("pytorch",),
    threads=(1,),
    process_sd=0.005,
    opted=[("pytorch", "memory"), ("pytorch", "fused")],
    ms={
        ("mlp", "pytorch", "memory"): 55.0,
        ("mlp", "pytorch", "fused"): 55.0,
        ("mlp", "pytorch", "tuned"): 44.0,
        ("mnist-cnn", "pytorch", "memory"): 42.0,
        ("mnist-cnn", "pytorch", "fused"): 42.0,
        ("mnist-cnn", "pytorch", "tuned"): 10.5,
    },
    changes={
        ("pytorch", "tuned"): ("ReLU in place", "fused"),
        ("pytorch", "memory"): ("freed memory kept", "default"),
        ("pytorch", "fused"): ("fused optimiser", "memory"),
    },
)
RATIOS = {"mlp": [0.5, 1.0, 0.8], "mnist-cnn": [2.0, 1.0, 0.25]}

Make = Callable[[Recipe], Findings]


@pytest.fixture(scope="module")
def tuned(found: Make) -> Findings:
    return found(RECIPE)


def test_each_step_is_compared_with_the_one_before_it(tuned: Findings) -> None:
    for workload, ratios in RATIOS.items():
        own = [row for row in tuned.steps if row.id.workload == workload]
        assert [row.change for row in own] == [
            "freed memory kept", "fused optimiser", "ReLU in place",
        ]  # fmt: skip
        assert [row.beside for row in own] == ["default", "memory", "fused"]
        assert [row.position for row in own] == [1, 2, 3]
        level = own[0].start_ms
        for row, ratio in zip(own, ratios, strict=True):
            assert row.estimate.ratio == pytest.approx(ratio, rel=0.03)
            assert level and row.level_ms == pytest.approx(level * (row.estimate.ratio or 0))
            level = row.level_ms


def test_sentences_name_what_is_significant(tuned: Findings) -> None:
    mlp, cnn = map(summary, chains(tuned))
    assert re.fullmatch(
        r"PyTorch, MLP, 1 thread: from 1[01]0 to 4\d ms\. “freed memory kept” takes off "
        r"(49|50|51) % and “ReLU in place” takes off (19|20|21) %\.",
        mlp,
    )
    assert "“freed memory kept” adds" in cnn and "fused optimiser" not in cnn


def test_the_report_has_sentences_figure_and_table(tuned: Findings, tmp_path: Path) -> None:
    figure = tuning_steps(tuned, Theme.of(tuned.matched), "tuning_steps")
    assert figure and "ReLU in place" in figure.finding and "0.50" in figure.svg
    table = step_table(tuned)
    assert table and len(table.rows) == 6 and all(row[-1].startswith("yes") for row in table.rows)
    write([tuned.machine], tmp_path)
    for name in ("report.md", "report.html"):
        page = (tmp_path / name).read_text()
        assert "What tuning is made of" in page and "takes off" in page
    assert (tmp_path / "tables/steps.csv").read_text().count("\n") == 7


def test_the_first_screen_has_the_steps_in_their_order(tuned: Findings) -> None:
    heading, rows = matrix(tuned).groups[-1]
    assert heading == "On the way to tuned: each row also has the changes of the rows above it"
    assert [row.title for row in rows] == [
        "PyTorch + freed memory kept", "PyTorch + fused optimiser",
    ]  # fmt: skip
    (text,) = [text for text in sentences(tuned) if text.startswith("Changes")]
    assert re.fullmatch(
        r"Changes: the largest cut PyTorch's step on the MNIST CNN by 7[3-7] % "
        r"\(“ReLU in place”\)\.",
        text,
    )
    assert not any(text.startswith("Opt-in") for text in sentences(tuned))


def test_a_refused_step_has_no_ratio_and_ends_the_levels(found: Make) -> None:
    refused = found(replace(RECIPE, refused=("pytorch/fused/cpu/1",)))
    mlp = [row for row in refused.steps if row.id.workload == "mlp"]
    assert [row.estimate.ratio is None for row in mlp] == [False, True, True]
    assert mlp[1].level_ms is None and mlp[2].start_ms is None
    assert tuning_steps(refused, Theme.of(refused.matched), "tuning_steps")


def test_without_changes_there_is_no_section(found: Make) -> None:
    plain = found(Recipe(threads=(1,), replicates=2))
    assert plain.steps == [] and step_table(plain) is None
    assert tuning_steps(plain, Theme.of(plain.matched), "tuning_steps") is None

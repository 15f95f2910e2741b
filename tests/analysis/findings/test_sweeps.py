"""Crossovers of made-up sweeps whose crossing is planted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from analysis.findings.sweeps import CROSSOVERS
from analysis.report.page import write
from analysis.report.sections.comparing.sweeps import crossover_table
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write as write_records

SIZES = [16, 32, 64, 128, 256]
NAMES = tuple(f"mlp-{size}" for size in SIZES)
RECIPE = Recipe(
    workloads=NAMES,
    frameworks=("pytorch", "tensorflow"),
    variants=("default",),
    together=True,
    process_sd=0.01,
    # Two threads take the same time at 64: slower below, faster above.
    second_thread={name: (size / 64) ** 0.5 for name, size in zip(NAMES, SIZES, strict=True)},
    sweeps={"mlp": {"sizes": {"features": SIZES}}},
    # TensorFlow is twice as fast at every size.
    ms={(name, "tensorflow", "default"): 15.0 for name in NAMES},
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(load([write_records(tmp_path_factory.mktemp("sweep") / "machine", RECIPE)])[0])


def test_the_planted_crossing_is_found(own: Findings) -> None:
    rows = [row for row in CROSSOVERS.of(own) if row.axis == "threads"]
    assert len(rows) == 2
    for row in rows:
        assert (row.crossing.changes, row.below, row.above) == (1, "slower", "faster")
        assert row.crossing.low and row.crossing.high and row.crossing.at
        assert row.crossing.low <= 66 and row.crossing.high >= 62
        assert 55 < row.crossing.at < 75
        flops = {w.name: w.flops_per_step for w in own.machine.records.workloads}
        assert row.at_flops and flops["mlp-32"] < row.at_flops < flops["mlp-128"]


def test_who_is_faster_at_every_size_crosses_nowhere(own: Findings) -> None:
    rows = [row for row in CROSSOVERS.of(own) if row.axis == "framework"]
    assert {row.id.threads for row in rows} == {1, 2}
    assert {(row.crossing.changes, row.below, row.crossing.at) for row in rows} == {
        (0, "faster", None)
    }


def test_the_table_says_both(own: Findings) -> None:
    table = crossover_table(own)
    assert table is not None
    said = {row[1]: row[2:] for row in table.rows}
    assert said["PyTorch, 2 threads to 1"][0] == "slower below, faster above"
    assert said["TensorFlow to PyTorch, 2 threads"] == ["faster at 5 of 5 sizes",
                                                        "", "", ""]  # fmt: skip


def test_the_page_has_the_section_and_its_figure(own: Findings, tmp_path: Path) -> None:
    write([own.machine], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "From which size on" in text
    assert "sweep_ratios.svg" in text
    assert (tmp_path / "tables" / "crossovers.csv").read_text().count("\n") == 5


def test_sizes_in_different_contests_are_not_joined(found: Callable[[Recipe], Findings]) -> None:
    assert CROSSOVERS.of(found(replace(RECIPE, together=False, replicates=2))) == []


def test_a_study_without_sweeps_has_no_such_table(found: Callable[[Recipe], Findings]) -> None:
    plain = replace(RECIPE, sweeps={}, workloads=("mlp",), second_thread={"mlp": 1.2})
    assert CROSSOVERS.of(found(plain)) == []

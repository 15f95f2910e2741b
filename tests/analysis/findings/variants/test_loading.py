"""What preparing mini-batches costs, from made-up records whose loaders cost known shares."""

import re

import pandas as pd
import pytest

from analysis.data.processes import COLUMNS
from analysis.data.reading import load
from analysis.findings.findings import TABLES, Findings, comma_separated
from analysis.findings.variants.loading import LoadingLine, by_turn
from analysis.report.figures.measuring.loading import loading
from analysis.report.figures.style import Theme
from analysis.report.sections.measuring.loading import loading_table, waits
from tests.analysis.recipe import MS, Recipe
from tests.analysis.synthetic import write

COST = {"stored": 1.0, "inline": 1.3, "threads-1": 1.1, "processes-2": 0.98, "framework-2": 1.2}
RECIPE = Recipe(
    workloads=("mlp",),
    variants=("default",),
    threads=(1,),
    process_sd=0.005,
    opted=[("pytorch", f"default+{loader}") for loader in COST],
    ms={("mlp", "pytorch", f"default+{loader}"): cost * MS["mlp", "pytorch", "default"]
        for loader, cost in COST.items()},
    absent={("mlp", n, "pytorch/default+inline/cpu/1"): "other mini-batches" for n in range(1, 8)},
)  # fmt: skip


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(load([write(tmp_path_factory.mktemp("loading") / "machine", RECIPE)])[0])


def line(findings: Findings, loader: str) -> LoadingLine:
    (row,) = [row for row in findings.loading if row.loader == loader]
    return row


@pytest.mark.parametrize("loader", ["threads-1", "processes-2", "framework-2"])
def test_ratios_are_those_of_the_records(findings: Findings, loader: str) -> None:
    row = line(findings, loader)
    ratio, low, high = row.estimate.ends
    assert ratio == pytest.approx(COST[loader], abs=0.02) and low and high and low < ratio < high
    assert row.wall.value and row.waiting.value and row.step.value and row.base_ms
    assert row.wall.value == pytest.approx(row.waiting.value + row.step.value, rel=1e-3)
    assert 0.1 < row.waiting.value < 0.5
    assert row.base_ms == pytest.approx(MS["mlp", "pytorch", "default"], rel=0.1)


def test_a_loader_that_was_refused_is_a_row_with_the_reason(findings: Findings) -> None:
    row = line(findings, "inline")
    assert (row.wall.value, row.estimate.ratio, row.reason) == (None, None, "other mini-batches")
    assert not [one for one in findings.comparisons if "+" in one.id.variant]
    text = comma_separated(TABLES["loading"].columns, [(row, findings.machine)])
    assert "default+inline,default,cpu,1,inline,0,0,," in text
    assert text.endswith("other mini-batches\n")


def test_the_report_says_it(findings: Findings) -> None:
    rows = [row for row in findings.loading if row.estimate.ratio]
    said = re.fullmatch(
        r"A step waits (.+) \(threads\), (.+) \(processes\) and (.+) \(DataLoader\) for its "
        r"mini-batch\.",
        waits(rows),
    )
    assert said and all(re.fullmatch(r"0\.\d+ to 0\.\d+ ms", one) for one in said.groups())
    table = loading_table(findings.loading, 0.95)
    words = ["1 thread", "2 processes", "DataLoader, 2 workers"]
    assert [row[2] for row in table.rows] == words
    assert [text for _, text in table.notes] == ["other mini-batches."]
    drawn = loading(findings, Theme(("pytorch",), ("default",)), "loading")
    assert drawn and "1.1 (threads), 0.98 (processes) and 1.2 (DataLoader) times" in drawn.finding
    assert "PyTorch, DataLoader, 2 workers" in drawn.files["loading.svg"]


def test_a_turn_counts_with_the_mean_of_its_mini_batches() -> None:
    """With two workers every second mini-batch may wait: the median alone would hide it."""
    one = ("mlp", "pytorch", "default+threads-2", "cpu", 1)
    rows = [
        {**dict(zip(COLUMNS, one, strict=True)), "replicate": 1, "round": turn, "weight": weight,
         "warmup": warmup, "data_ms": waited, "ms": 7.0}
        for turn in (1, 2, 3)
        for warmup, waited, weight in ((True, 99.0, 1), (False, 0.0, 2), (False, 9.0, 1))
    ]  # fmt: skip
    (found,) = by_turn(pd.DataFrame(rows)).values()
    assert found.loc[1, ["waiting", "step", "wall"]].tolist() == [3.0, 7.0, 10.0]

"""Where a step's time goes, from made-up records whose parts take known shares."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from analysis.findings.variants.parts import PartLine
from analysis.literature.studies import GRADIENTS, LOSS, PART, STEP, Pair, read
from analysis.report.figures.comparing.parts import shares_of_steps
from analysis.report.figures.style import Theme
from analysis.report.page import write
from analysis.report.sections.comparing.parts import part_table, summary
from tests.analysis.recipe import MS, Recipe
from tests.analysis.synthetic import write as write_records

VARIANTS = ("part-forward", "part-gradient")
# Times of the forward and the gradient part over the step's.
SHARES = {
    ("mlp", "pytorch"): (0.3, 0.8),
    ("mnist-cnn", "pytorch"): (0.25, 0.95),
    ("mlp", "tensorflow"): (0.4, 1.2),  # the gradient part takes longer than the step
    ("mnist-cnn", "tensorflow"): (0.7, 0.5),  # and here less than the forward part
}
RECIPE = Recipe(
    variants=("default",),
    threads=(1,),
    process_sd=0.005,
    opted=[(f, v) for f in ("pytorch", "tensorflow") for v in VARIANTS],
    parts={
        (f, v): v.removeprefix("part-") for f in ("pytorch", "tensorflow") for v in VARIANTS
    },
    ms={
        (w, f, v): share * MS[w, f, "default"]
        for (w, f), own in SHARES.items()
        for v, share in zip(VARIANTS, own, strict=True)
    },
)  # fmt: skip
MEASURED = ("forward", "gradient", "update")

Make = Callable[[Recipe], Findings]


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(load([write_records(tmp_path_factory.mktemp("parts") / "machine", RECIPE)])[0])


def line(findings: Findings, workload: str, framework: str) -> PartLine:
    (row,) = [
        row for row in findings.parts
        if (row.id.workload, row.id.framework) == (workload, framework)
    ]  # fmt: skip
    return row


@pytest.mark.parametrize(("workload", "framework"), SHARES)
def test_shares_are_those_of_the_records(parted: Findings, workload: str, framework: str) -> None:
    row = line(parted, workload, framework)
    forward, gradient = SHARES[workload, framework]
    assert (row.id.variant, row.replicates, row.reason) == ("default", 7, "")
    for name, share in zip(MEASURED, (forward, gradient - forward, 1 - gradient), strict=True):
        value, low, high = getattr(row, name)
        assert value == pytest.approx(share, abs=0.02) and low < value < high
    assert sum(getattr(row, name).value for name in MEASURED) == pytest.approx(1)
    assert row.over_forward.value == pytest.approx(gradient / forward, rel=0.02)
    assert row.over_step.value == pytest.approx(gradient, rel=0.02)
    assert row.over_step.low and row.over_step.high and row.over_forward.low
    assert row.over_step.low < (row.over_step.value or 0.0) < row.over_step.high


def test_what_does_not_add_up_is_said(parted: Findings) -> None:
    said = {key: summary(line(parted, *key)) for key in SHARES}
    plain = said["mlp", "pytorch"]
    assert plain.startswith("PyTorch, MLP, 1 thread: the forward pass takes 30 % of a step, the ")
    assert plain.endswith("times as long as the loss.") and "add up" not in plain
    known = line(parted, "mlp", "pytorch")
    unsure = replace(known, update=known.update._replace(low=-0.1))
    assert summary(unsure).endswith("The share is not significant for the update.")
    beyond = said["mlp", "tensorflow"]
    assert "Loss and gradients without an update take 20 % longer than the whole step" in beyond
    assert "less time than the loss alone" in said["mnist-cnn", "tensorflow"]


def test_a_part_is_compared_with_its_own_step_only(parted: Findings) -> None:
    assert {row.id.variant for row in parted.comparisons} == {"default"}
    assert {row.id.variant for row in parted.matrix} == {"default"}
    assert {row.axis for row in parted.pairs} == {"framework"}
    assert not [
        row
        for row in parted.settings
        if row.id.variant != "default" and row.status in ("equal", "mismatched")
    ]


def test_the_report_shows_the_shares(parted: Findings, found: Make, tmp_path: Path) -> None:
    ordinary = found(Recipe(replicates=2, rounds=2, workloads=("mlp",), threads=(1,)))
    write([parted.machine], tmp_path / "with")
    write([ordinary.machine], tmp_path / "without")
    for name in ("report.md", "report.html"):
        page = (tmp_path / "with" / name).read_text()
        assert "Where a step" in page and "the forward pass takes" in page
        assert "Where a step" not in (tmp_path / "without" / name).read_text()
    assert (tmp_path / "with/figures/parts.svg").exists()
    assert not (tmp_path / "without/tables/parts.csv").exists()
    table = pd.read_csv(tmp_path / "with/tables/parts.csv")
    assert len(table) == 4 and table["forward_share"].notna().all()


def test_the_figure_ends_where_the_longest_part_does(parted: Findings) -> None:
    figure = shares_of_steps(parted, Theme.of(parted.matched), "parts")
    assert figure and "times as long as the loss" in figure.finding
    assert "The update's share is largest in" in figure.finding


def test_a_refused_part_leaves_no_shares_but_the_reason(found: Make) -> None:
    refused = found(replace(RECIPE, refused=("pytorch/part-gradient/cpu/1",), replicates=3))
    row = line(refused, "mlp", "pytorch")
    assert row.forward.value is None and "refused: loss differs" in row.reason
    assert "no shares. " in summary(row)
    table = part_table(refused.parts, 0.95)
    assert table and len(table.rows) == 2 and len(table.notes) == 2
    assert line(refused, "mlp", "tensorflow").forward.value


def test_claims_are_judged_by_the_ratios(parted: Findings, tmp_path: Path) -> None:
    write([parted.machine], tmp_path)
    study = read(tmp_path)
    rows = study.of(Pair(PART, GRADIENTS, LOSS))
    assert {row.id[:2] for row in rows} == set(SHARES)
    for row in [*rows, *study.of(Pair(PART, GRADIENTS, STEP))]:
        forward, gradient = SHARES[row.id[:2]]
        over = gradient / forward if row.pair.over == LOSS else gradient
        assert row.usable and row.known.ratio == pytest.approx(over, rel=0.02)

"""Controls, from made-up records in which they are right, biased, or not applied."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.loading import load
from analysis.findings.controls import ControlLine, judged
from analysis.findings.findings import Findings
from analysis.report.caveats.controls import wrong
from analysis.report.caveats.registry import caveats
from analysis.report.figures.style import Theme
from analysis.report.layout import Caveat, Severity
from analysis.report.page import write as write_report
from analysis.report.sections.controls import control_method, control_summary, control_table
from analysis.stats.inference import Estimate
from tests.analysis.synthetic import Recipe, write

RIGHT = [(0.0, 1.0), (0.05, 1.05), (0.1, 1.1), (0.25, 1.25)]
RECIPE = Recipe(threads=(1, 2), controls=RIGHT, process_sd=0.006)

Make = Callable[[Recipe], Findings]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(load([write(tmp_path_factory.mktemp("controls") / "machine", RECIPE)])[0])


def outcomes(findings: Findings, workload: str = "mlp") -> dict[str, str]:
    return {row.id.variant: row.outcome for row in findings.controls if row.id.workload == workload}


def warnings(findings: Findings) -> list[Caveat]:
    return [one for one in caveats(findings, 2) if one.severity is Severity.WARNING]


def text(findings: Findings) -> str:
    return " ".join(one.text for one in wrong(findings))


def test_right_ones_come_out_right(right: Findings) -> None:
    assert len(right.controls) == 8
    for row in right.controls:
        ratio, low, high = row.estimate.ends
        assert (row.of, row.id.on, row.estimate.replicates) == ("tuned", "CPU, 1 thread", 7)
        assert ratio == pytest.approx(row.truth, rel=0.02) and row.truth == 1 + row.spin
        assert low and high and ratio and low < ratio < high
        expected = ("slower",) if row.spin else ("equivalent", "cannot tell")
        assert row.estimate.verdict in expected
        assert row.outcome == "right"
    assert text(right) == "" and warnings(right) == []
    summary = control_summary(right)
    assert summary.startswith(
        "PyTorch tuned (CPU, 1 thread) once more, against itself and slowed by 5 %, 10 % and 25 %, "
        "in mlp and mnist-cnn: all 8 came out right. It took "
    )
    assert re.search(
        r" It took \S+ and \S+ times as long as itself; slowed by 5 %, 1\.0\d+ and 1\.0\d+ times; ",
        summary,
    )


@pytest.mark.parametrize("bias", [1.05, 1 / 1.05])
def test_a_biased_twin_is_caught_and_heads_the_report(
    found: Make, tmp_path: Path, bias: float
) -> None:
    findings = found(replace(RECIPE, controls=[(0.0, bias), *RIGHT[1:]], workloads=("mlp",)))
    assert outcomes(findings)["tuned+twin"] == "wrong"
    assert [*outcomes(findings).values()].count("right") == 3
    (warning,) = warnings(findings)
    assert warning.heading == "Controls wrong"
    assert "mlp (PyTorch tuned, CPU, 1 thread) against itself took " in warning.text
    assert "instead of 1. So the harness or the machine sees differences that are" in warning.text
    (row,) = [row for row in findings.controls if not row.spin]
    assert row.error == pytest.approx(0.05, abs=0.015)
    assert row.furthest > row.error
    size = f"{100 * row.furthest:.2g}"
    assert f"do not believe any difference of {size} % or less in mlp" in warning.text
    write_report([findings.machine], tmp_path / "out")
    for name in ("report.md", "report.html"):
        page = (tmp_path / "out" / name).read_text()
        assert page.index("Controls wrong") < page.index("1 came out wrong, see above")
        assert page.index("1 came out wrong, see above") < page.index("mlp, CPU, 1 thread, default")


def test_a_handicap_that_was_not_applied_is_caught(found: Make) -> None:
    findings = found(replace(RECIPE, controls=[*RIGHT[:2], (0.1, 1.0), (0.25, 1.15)]))
    for workload in ("mlp", "mnist-cnn"):
        assert outcomes(findings, workload) == {
            "tuned+twin": "right", "tuned+5%": "right", "tuned+10%": "wrong", "tuned+25%": "wrong",
        }  # fmt: skip
    assert "slowed by 10 % took " in text(findings) and "instead of 1.1;" in text(findings)
    assert "gets differences wrong that are there" in text(findings)
    assert "not there" not in text(findings)


def test_what_pauses_cost_is_taken_out_of_the_slowed_ones(found: Make) -> None:
    """Spinning makes the next step 8 % slower here, on the clock or off it."""
    after_pauses = [(0.0, 1.0), *((spin, 1.08 * (1 + spin)) for spin in (0.05, 0.1, 0.25))]
    recipe = replace(RECIPE, controls=after_pauses, workloads=("mlp",))
    blind = found(replace(recipe, machine="blind"))
    assert [*outcomes(blind).values()].count("wrong") == 3
    findings = found(replace(recipe, paused=1.08))
    assert outcomes(findings) == {
        "tuned+twin": "right", "tuned+paused": "measured",
        "tuned+5%": "right", "tuned+10%": "right", "tuned+25%": "right",
    }  # fmt: skip
    against = {row.id.variant: row.against for row in findings.controls}
    assert against["tuned+twin"] == against["tuned+paused"] == "tuned"
    assert {against[f"tuned+{spin}%"] for spin in (5, 10, 25)} == {"tuned+paused"}
    paused = next(row for row in findings.controls if row.outcome == "measured")
    assert paused.truth is None and paused.estimate.p is None
    assert paused.estimate.ratio == pytest.approx(1.08, 0.02)
    summary = control_summary(findings)
    assert "all 4 came out right" in summary
    assert "Pauses between steps alone made them " in summary and text(findings) == ""


def test_what_is_too_small_for_the_study_is_not_wrong_but_said(found: Make) -> None:
    findings = found(Recipe(threads=(1,), controls=RIGHT, process_sd=0.05))
    assert outcomes(findings)["tuned+5%"] == "not resolved" and text(findings) == ""
    row = next(row for row in findings.controls if row.spin == 0.05)
    assert row.id.workload == "mlp" and row.estimate.verdict == "cannot tell"
    summary = control_summary(findings)
    assert "slowed by less than this study sees" in summary
    assert "could not be told from nothing in mlp (PyTorch tuned, CPU, 1 thread)." in summary


def test_a_handicap_that_is_faster_is_wrong_whatever_the_margin(right: Findings) -> None:
    row = Estimate(p=0.1, verdict="equivalent")
    assert judged(row, replace(row, verdict="faster"), 0.05, 0.05) == "wrong"
    assert judged(row, replace(row, verdict="slower"), 0.05, 0.05) == "right"
    assert judged(replace(row, p=None), row, 0.05, 0.05) == "not judged"


def test_many_right_twins_are_seldom_called_wrong(found: Make) -> None:
    """At most one study in twenty by construction; here 12 with 8 controls each."""
    wrong = 0
    for seed in range(12):
        recipe = Recipe(machine=f"m{seed}", seed=seed, rounds=2, threads=(1,), variants=("tuned",),
                        frameworks=("pytorch",), controls=RIGHT, process_sd=0.02)  # fmt: skip
        wrong += any(row.outcome == "wrong" for row in found(recipe).controls)
    assert wrong <= 3  # of 12 at 5 % each: more has a probability of 0.2 %


def test_controls_change_nothing_for_others(right: Findings, found: Make) -> None:
    plain = found(replace(RECIPE, controls=()))
    for name in ("comparisons", "devices", "certificate", "settings", "pitfalls"):
        mine, theirs = getattr(right, name), getattr(plain, name)
        assert len(mine) == len(theirs)
        assert not [row for row in mine if "+" in row.id.variant]
    assert [r.estimate.p is None for r in right.comparisons] == [
        r.estimate.p is None for r in plain.comparisons
    ]
    assert set(Theme.of(right.matched).variants) == {"default", "tuned"}
    assert [row.id.variant for row in right.contenders if row.id.workload == "mlp"][:8] == [
        "default", "default", "tuned", "tuned+twin", "tuned+5%", "tuned+10%", "tuned+25%", "tuned",
    ]  # fmt: skip


def test_a_control_that_trains_something_else_is_wrong(right: Findings) -> None:
    batches = right.machine.batches.copy()
    mine = (batches["variant"] == "tuned+twin") & (batches["workload"] == "mlp")
    batches.loc[mine, "loss"] *= 1.01
    findings = Findings(replace(right.machine, batches=batches))
    assert outcomes(findings)["tuned+twin"] == "wrong"
    assert "first float32 loss" in text(findings)
    assert "do not believe any difference in mlp," in text(findings)
    assert {row.estimate.verdict for row in findings.comparisons} & {"refused"} == set()


def test_one_replicate_judges_nothing(found: Make) -> None:
    findings = found(replace(RECIPE, replicates=1, workloads=("mlp",)))
    assert set(outcomes(findings).values()) == {"not judged"}
    assert "of 4 controls none came out right and 4 not judged" in control_summary(findings)


def test_a_control_that_failed_is_a_row_with_its_reason(found: Make) -> None:
    absent = {("mlp", r, "pytorch/tuned+5%/cpu/1"): "killed (SIGKILL)" for r in range(1, 8)}
    findings = found(replace(RECIPE, absent=absent))
    assert outcomes(findings)["tuned+5%"] == "not judged"
    table = control_table(findings)
    assert table and len(table.rows) == 7
    assert table.notes == [
        ("mlp, PyTorch, tuned+5%, CPU, 1 thread", "not judged. killed (SIGKILL).")
    ]


def test_a_study_without_controls_says_so_first(findings: Findings, tmp_path: Path) -> None:
    assert findings.controls == [] and control_table(findings) is None
    assert control_summary(findings).startswith("none in this study.")
    write_report([findings.machine], tmp_path)
    page = (tmp_path / "report.md").read_text()
    assert page.index("**Controls**: none in this study.") < page.index("## The answer")
    assert not (tmp_path / "tables/controls.csv").exists()


def test_pages_and_table(right: Findings, tmp_path: Path) -> None:
    write_report([right.machine], tmp_path)
    for name in ("report.md", "report.html"):
        page = (tmp_path / name).read_text().replace("\u00a0", " ")
        assert page.index("all 8 came out right") < page.index("times as long as PyTorch")
        assert "Controls: time over that of the same contender" in page
    table = pd.read_csv(tmp_path / "tables/controls.csv")
    assert list(table.columns) == ControlLine.COLUMNS.split()
    assert set(table.outcome) == {"right"}


def test_the_method_says_what_they_cost(right: Findings) -> None:
    # 4 controls beside 2 frameworks, 2 variants and 2 thread counts, all made up to take as long
    assert "Controls took 33.3 % of the contenders' time" in control_method(right)


def test_an_a_a_study_compares_nothing_else(found: Make, tmp_path: Path) -> None:
    findings = found(replace(RECIPE, alone=True, controls=RIGHT[:1]))
    assert findings.comparisons == [] and len(findings.controls) == 2
    write_report([findings.machine], tmp_path)
    page = (tmp_path / "report.md").read_text()
    assert "An A/A study: contenders are held against themselves alone" in page
    assert "times as long as PyTorch" not in page and "all 2 came out right" in page

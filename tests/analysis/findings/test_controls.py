"""Controls, from made-up records in which they are right, biased, or not applied."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.data.results import BenchmarkId
from analysis.findings.controls import ControlLine, beyond_chance, expected_misses
from analysis.findings.findings import Findings
from analysis.report.caveats.controls import misses, strange
from analysis.report.caveats.registry import caveats
from analysis.report.figures.style import Theme
from analysis.report.layout import Severity
from analysis.report.page import write as write_report
from analysis.report.prose import share
from analysis.report.sections.sameness.alone import alone_summary
from analysis.report.sections.sameness.controls import control_summary, control_table, cost, inside
from analysis.stats.intervals import Interval
from tests.analysis.recipe import Recipe

RIGHT = [(0.0, 1.0), (0.1, 1.1)]
RECIPE = Recipe(
    variants=("tuned",), threads=(1,), rounds=4, controls=RIGHT, process_sd=0.006, seed=3
)  # fmt: skip
ONE = replace(RECIPE, workloads=("mlp",))

Make = Callable[[Recipe], Findings]


@pytest.fixture(scope="module")
def right(found: Make) -> Findings:
    return found(RECIPE)


def contained(findings: Findings, workload: str = "mlp") -> dict[str, bool | None]:
    rows = [row for row in findings.controls if row.id.workload == workload]
    return {row.id.variant: row.contains_truth for row in rows}


def line(p: float) -> ControlLine:
    """A control's row with this p for the truth."""
    one = BenchmarkId("mlp", "pytorch", "tuned+twin", "cpu", 1)
    return ControlLine(one, "tuned", 0.0, 5, Interval(1.0, 0.9, 1.1), p, p >= 0.05)


def test_right_ones_contain_the_truth(right: Findings) -> None:
    assert len(right.controls) == 4
    for row in right.controls:
        assert (row.of, row.id.on, row.replicates) == ("tuned", "CPU, 1 thread", 7)
        assert row.truth == (1.1 if row.id.variant == "tuned+10%" else 1)
        ratio, low, high = row.ratio
        assert ratio and low and high
        assert low < row.truth < high
        assert row.contains_truth is True
    assert not [*misses(right), *strange(right)]
    assert re.fullmatch(
        r"In 4 of 4 controls the interval contains the truth\. Chance alone would miss about "
        r"0\.2\. PyTorch, tuned, ran a second time unchanged and slowed by 10 %\. "
        r"The measured ratios are within [\d.]+ % of the truth\.",
        control_summary(right),
    )


def test_an_interval_is_students_over_contests_against_the_contender(right: Findings) -> None:
    """Computed anew from mini-batches, without the report's own functions."""
    batches = right.machine.batches
    batches = batches[(batches.workload == "mlp") & ~batches.warmup & (batches.threads == 1)]
    logs = []
    for _, contest in batches.groupby("replicate"):
        sides = [contest[contest.variant == name] for name in ("tuned+10%", "tuned")]
        slowed, own = (side[side.framework == "pytorch"] for side in sides)
        apart = [
            np.log(mine.ms.to_numpy()[:, None] / own[own["round"] == number].ms.to_numpy())
            for number, mine in slowed.groupby("round")
        ]
        logs.append(np.median(np.concatenate(apart, axis=None)))
    ends = stats.t.interval(0.95, len(logs) - 1, np.mean(logs), stats.sem(logs))
    row = next(row for row in right.controls if row.id[:3] == ("mlp", "pytorch", "tuned+10%"))
    assert [row.ratio.low, row.ratio.high] == pytest.approx(np.exp(ends))
    assert row.p == pytest.approx(stats.ttest_1samp(logs, np.log(1.1)).pvalue)


@pytest.mark.parametrize("bias", [1.05, 1 / 1.05])
def test_a_biased_twin_misses_and_heads_the_report(
    found: Make, tmp_path: Path, bias: float
) -> None:
    findings = found(replace(ONE, controls=[(0.0, bias), RIGHT[1]]))
    assert contained(findings) == {"tuned+twin": False, "tuned+10%": True}
    (warning,) = [one for one in caveats(findings, 2) if one.severity is Severity.WARNING]
    assert warning.heading == "Self-test failed"
    assert "1 of 2 controls misses the truth; chance explains 0.1. PyTorch, tuned," in warning.seen
    assert "unchanged (MLP, 1 thread), took " in warning.seen
    assert warning.seen.endswith(f"{'more' if bias > 1 else 'less'} time than it should.")
    row = findings.controls[0]
    assert row.furthest > 0.04
    assert f"Do not rely on differences of {share(row.furthest)} or less on the MLP" in warning.do
    (chapter,) = write_report([findings.machine], tmp_path / "out")
    for name in ("report.md", "report.html"):
        page = (tmp_path / "out" / name).read_text()
        first = page.index("Self-test failed")
        assert first < page.index("1 of 2 intervals contains the known ratio")
    assert inside(chapter) == ""  # the section is open


def test_a_handicap_that_was_not_applied_is_caught(found: Make) -> None:
    findings = found(replace(RECIPE, controls=[RIGHT[0], (0.1, 1.0)]))
    for workload in ("mlp", "mnist-cnn"):
        assert contained(findings, workload) == {"tuned+twin": True, "tuned+10%": False}
    (warning,) = misses(findings)
    assert warning.severity is Severity.WARNING
    assert "slowed by 10 % (MLP, 1 thread), took " in warning.seen
    assert "less time than it should. PyTorch" in warning.seen
    where = r"of \S+ % or less on the MLP and of \S+ % or less on the MNIST CNN;"
    assert re.search(f"differences {where}", warning.do)


@pytest.mark.parametrize(
    "p, beyond",
    [
        ([0.5, 0.2, 0.9, 0.05], False),  # none misses
        ([0.04, 0.2, 0.9, 0.6], False),  # one of four: probability 19 %
        ([0.012, 0.2, 0.9, 0.6], True),  # below 5 % / 4
        ([0.04, 0.04, 0.9, 0.6], True),  # two of four: probability 1.4 %
        ([0.04] * 3 + [0.5] * 17, False),  # three of twenty: 7.5 %
        ([0.04] * 4 + [0.5] * 16, True),  # four of twenty: 1.6 %
    ],
)
def test_misses_are_held_against_chance(p: list[float], beyond: bool) -> None:
    rows = [line(one) for one in p]
    assert expected_misses(rows, 0.95) == pytest.approx(len(p) / 20)
    assert beyond_chance(rows, 0.95) is beyond


def test_a_miss_that_chance_explains_is_a_note(right: Findings) -> None:
    findings = Findings(right.machine)
    shifted = replace(findings.controls[0], p=0.03, contains_truth=False)
    findings.__dict__["controls"] = [shifted, *findings.controls[1:]]
    (note,) = misses(findings)
    assert note.severity is Severity.NOTE and "chance explains 0.2." in note.seen
    assert "In 3 of 4 controls the interval contains the truth" in control_summary(findings)


def test_a_slowed_control_that_is_slow_by_waiting_is_a_note(found: Make) -> None:
    """In records without groups, whose slowed controls waited between steps."""
    findings = found(replace(ONE, controls=[RIGHT[0], (0.1, 1.1 * 1.03)]))
    assert contained(findings) == {"tuned+twin": True, "tuned+10%": False}
    (warning,) = misses(findings)
    assert warning.severity is Severity.WARNING and "may be slow" not in warning.text
    (note,) = misses(ungrouped(findings))
    assert note.severity is Severity.NOTE and "1 of them may be slow because" in note.text
    far = found(replace(ONE, machine="m", controls=[RIGHT[0], (0.1, 1.1 * 1.1)]))
    (warning,) = misses(ungrouped(far))
    assert warning.severity is Severity.WARNING and "may be slow" not in warning.text


def ungrouped(findings: Findings) -> Findings:
    for contest in findings.machine.records.contests:
        contest.group = ""
    return findings


def test_controls_of_earlier_studies_are_compared_with_their_contender(found: Make) -> None:
    """They had 5, 10 and 25 %, and one that only waited, whose true ratio is unknown."""
    truths = [(0.0, 1.0), (0.05, 1.05), (0.1, 1.1), (0.25, 1.25)]
    findings = ungrouped(found(replace(ONE, controls=truths, paused=1.08)))
    assert contained(findings) == dict.fromkeys(
        ["tuned+twin", "tuned+5%", "tuned+10%", "tuned+25%"], True
    )
    assert [row.ratio.value for row in findings.controls] == pytest.approx(
        [1, 1.05, 1.1, 1.25], rel=0.02
    )
    assert "tuned+paused" in {row.id.variant for row in findings.contenders}


def test_controls_change_nothing_for_others(right: Findings, found: Make) -> None:
    plain = found(replace(RECIPE, controls=()))
    for name in ("comparisons", "pairs", "certificate", "settings", "pitfalls"):
        mine, theirs = getattr(right, name), getattr(plain, name)
        assert len(mine) == len(theirs)
        assert not [row for row in mine if "+" in row.id.variant]
    assert set(Theme.of(right.matched).variants) == {"tuned"}
    assert [row.id.variant for row in right.contenders if row.id.workload == "mlp"][:4] == [
        "tuned", "tuned+twin", "tuned+10%", "tuned",
    ]  # fmt: skip


def test_a_control_that_trains_something_else_is_not_judged_and_said(right: Findings) -> None:
    batches = right.machine.batches.copy()
    mine = (batches["variant"] == "tuned+twin") & (batches["workload"] == "mlp")
    batches.loc[mine, "loss"] *= 1.01
    findings = Findings(replace(right.machine, batches=batches))
    assert contained(findings) == {"tuned+twin": None, "tuned+10%": True}
    (warning,) = strange(findings)
    assert warning.severity is Severity.WARNING
    assert "first float32 loss" in warning.text
    assert "Do not rely on differences on the MLP" in warning.do
    assert "1 of 4 controls could not be judged. In 3 of 3 controls" in control_summary(findings)
    assert {row.estimate.verdict for row in findings.comparisons} & {"refused"} == set()


def test_one_replicate_judges_nothing(found: Make) -> None:
    findings = found(replace(ONE, replicates=1))
    assert set(contained(findings).values()) == {None}
    assert control_summary(findings).startswith("2 of 2 controls could not be judged. PyTorch, ")
    table = control_table(findings)
    assert table and [row[-1] for row in table.rows] == ["", ""]
    assert "one replicate has no interval" in table.notes[0][1]


def test_a_control_that_failed_is_a_row_with_its_reason(found: Make) -> None:
    absent = {("mlp", r, "pytorch/tuned+10%/cpu/1"): "killed (SIGKILL)" for r in range(1, 8)}
    findings = found(replace(RECIPE, absent=absent))
    assert contained(findings) == {"tuned+twin": True, "tuned+10%": None}
    table = control_table(findings)
    assert table and len(table.rows) == 3
    assert table.notes == [("MLP, PyTorch, tuned, 1 thread", "not judged. killed (SIGKILL).")]


def test_a_study_without_controls_says_so_first(found: Make, tmp_path: Path) -> None:
    findings = found(replace(ONE, controls=()))
    assert findings.controls == [] and control_table(findings) is None
    assert control_summary(findings).startswith("This study has no self-test")
    write_report([findings.machine], tmp_path)
    assert "This study has no self-test" in (tmp_path / "report.html").read_text()
    assert not (tmp_path / "tables/controls.csv").exists()


def test_the_section_says_what_they_cost(right: Findings) -> None:
    # 2 controls beside 2 frameworks, all made up to take as long
    assert cost(right) == "The self-test took 50 % of the contenders' time."


def test_an_a_a_study_compares_nothing_else(found: Make, tmp_path: Path) -> None:
    findings = found(replace(RECIPE, alone=True, controls=RIGHT[:1]))
    assert findings.comparisons == [] and len(findings.controls) == 2
    write_report([findings.machine], tmp_path)
    said = alone_summary(findings)
    assert said.startswith("In 2 of 2 pairs the interval contains 1. By chance alone, about 0.1 ")
    page = (tmp_path / "report.md").read_text()
    assert said in page and "times as long as PyTorch" not in page
    for title in ("The ratios", "What differs on purpose", "Self-test"):
        assert f"## {title}\n" not in page

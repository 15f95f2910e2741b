"""What a clock shows of steps that nobody waits for, from made-up turns whose first steps return
early and whose others take their time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.findings.findings import Findings
from analysis.findings.speed import off_clock
from analysis.findings.variants.queue import QueueLine, doubled
from analysis.report.figures.sameness.queue import queue
from analysis.report.figures.style import Theme
from analysis.report.page import write
from analysis.report.sections.sameness.queue import queue_table
from tests.analysis.recipe import Recipe

Make = Callable[[Recipe], Findings]

TURN = 12
SHARES = [0.02, 0.022, 0.024, 0.026, *[1.0] * (TURN - 4)]  # four steps of a turn return early
UNREAD = ("pytorch", "trap-unread")
RECIPE = Recipe(
    variants=("default",),
    threads=(1,),
    workloads=("mlp",),
    rounds=3,
    turn=TURN,
    pitfalls={
        UNREAD: ("no synchronise, no loss read", 1.0, 0.0),
        ("tensorflow", "trap-unread"): ("no synchronise, no loss read", 1.0, 0.0),
        ("tensorflow", "trap-unsynchronised"): ("no synchronise", 1.0, 0.0),
    },
)


def queued(findings: Findings) -> Findings:
    """PyTorch's unread steps take the times of its default, the first few of a turn a share."""
    batches = findings.machine.batches.copy().reset_index(drop=True)
    turn = ["framework", "variant", "replicate", "round"]
    place = batches.groupby(turn).cumcount()
    own, base = (
        (batches["framework"] == "pytorch") & (batches["variant"] == name)
        for name in ("trap-unread", "default")
    )
    batches.loc[own, "ms"] = batches.loc[base, "ms"].to_numpy() * np.take(SHARES, place[own])
    unread = batches["variant"] == "trap-unread"
    last = batches.groupby(turn)["step"].transform("max") == batches["step"]
    batches.loc[unread & ~last, "loss"] = np.nan
    return Findings(replace(findings.machine, batches=batches))


@pytest.fixture(scope="module")
def found_queue(found: Make) -> Findings:
    return queued(found(RECIPE))


def of(findings: Findings, framework: str) -> list[QueueLine]:
    return [row for row in findings.queue if row.id.framework == framework]


def test_the_first_steps_are_those_after_a_fence(found_queue: Findings) -> None:
    rows = of(found_queue, "pytorch")
    assert [row.steps for row in rows] == [1, 2, 4, 8, 12] == doubled(TURN)
    for row in rows:
        expected = np.mean(SHARES[: row.steps])
        # Steps of a turn differ by some percent, the first by more.
        assert row.estimate.ratio == pytest.approx(expected, rel=0.1)
        assert row.reported_ms / row.fenced_ms == pytest.approx(row.estimate.ratio, rel=0.02)
        ratio, low, high = row.estimate.ends
        assert ratio and low and high and low <= ratio <= high
        assert (row.id.variant, row.beside) == ("trap-unread", "default")
        assert row.estimate.replicates == RECIPE.replicates
    assert rows[0].estimate.ratio == pytest.approx(SHARES[0], rel=1e-9)


def test_one_that_waits_by_itself_is_at_one(found_queue: Findings) -> None:
    rows = of(found_queue, "tensorflow")
    assert {row.id.variant for row in rows} == {"trap-unread"}  # the other's losses were read
    assert all(row.estimate.ratio == pytest.approx(1, abs=0.06) for row in rows)


def test_condensed_turns_have_no_first_steps(found_queue: Findings) -> None:
    batches = found_queue.machine.batches.assign(weight=2)
    assert Findings(replace(found_queue.machine, batches=batches)).queue == []


def test_losses_that_are_read_at_every_step_make_no_row(found: Make) -> None:
    assert found(RECIPE).queue == []


def test_a_loss_that_is_not_read_makes_nobody_slow_between_steps(
    found_queue: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {one: 0.05 if "unread" in one.variant else 0.4 for one in found_queue.measured}
    monkeypatch.setattr(off_clock, "between_ms", lambda rows: waits)
    monkeypatch.setattr(off_clock, "processor_s", lambda _, asked: dict.fromkeys(asked, 0.0))
    rows = off_clock.off_clock_lines(found_queue)
    longer = {row.id.variant: row.longer_ms for row in rows}
    assert longer["default"] == 0 and longer["trap-unread"] == pytest.approx(-0.35)


def test_one_replicate_has_a_line_without_an_interval(found: Make) -> None:
    single = queued(found(replace(RECIPE, replicates=1)))
    assert all(row.estimate.ratio_low is None for row in single.queue)
    drawn = queue(single, Theme.of(single.matched), "queue")
    assert drawn and drawn.finding.startswith("A clock shows the time of every framework")


def test_the_figure_and_the_table_say_what_a_clock_shows(found_queue: Findings) -> None:
    drawn = queue(found_queue, Theme.of(found_queue.matched), "queue")
    assert drawn and drawn.finding == (
        "A clock shows 2 % of the time of 1 step of PyTorch on the MLP with 1 thread, and 67 % of "
        "that of 12."
    )
    assert "PyTorch" in drawn.svg and "TensorFlow" in drawn.svg
    table = queue_table(found_queue)
    assert table and [name for name, _ in table.columns[2:]] == [
        "1 step", "2 steps", "4 steps", "8 steps", "12 steps",
    ]  # fmt: skip
    assert [row[:2] for row in table.rows] == [
        ["PyTorch", "MLP, 1 thread"], ["TensorFlow", "MLP, 1 thread"],
    ]  # fmt: skip
    assert table.rows[0][2].startswith("0.0200 (0.0200 to ")


def test_the_report_has_the_section_only_with_such_a_contender(
    found_queue: Findings, found: Make, tmp_path: Path
) -> None:
    write([found_queue.machine], tmp_path / "with")
    write([found(RECIPE).machine], tmp_path / "without")
    for name in ("report.md", "report.html"):
        assert "Steps that nobody waits for" in (tmp_path / "with" / name).read_text()
        assert "nobody waits for" not in (tmp_path / "without" / name).read_text()
    rows = pd.read_csv(tmp_path / "with/tables/queue.csv")
    assert len(rows) == 10 and {*rows["framework"]} == {"pytorch", "tensorflow"}
    assert (tmp_path / "with/figures/queue.svg").exists()
    assert not (tmp_path / "without/tables/queue.csv").exists()

"""The calibration: pooled from records, and recomputed from them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.repeats.calibration import coverage, main, markdown, pooled, trials
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT
from workflows.records.machine_folder import read_machine
from workflows.records.storage import RecordError

RECIPE = Recipe(
    workloads=("mlp",), variants=("tuned",), threads=(1,), rounds=3, replicates=4,
    controls=[(0.0, 1.0), (0.1, 1.1)], paused=1.05,
)  # fmt: skip
COMMITTED = [ROOT / "reports/repeats/six-rounds" / name for name in ("first", "second")]


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    """Two studies of one machine."""
    for number in (1, 2):
        recipe = replace(RECIPE, seed=number, year=2025 + number)
        write(tmp_path / f"study{number}" / "machines" / recipe.machine, recipe)
    return tmp_path


def recomputed(folder: Path, workload: str, control: str) -> list[float]:
    """Log of PyTorch `tuned`'s control over itself, by contest, from mini-batches alone."""
    table = read_machine(folder)[1].to_pandas()
    table = table[(table.workload == workload) & ~table.warmup]
    table["log"] = np.log(table.transfer_ns + table.step_ns)
    found = []
    for _, contest in table.groupby("replicate"):
        sides = [
            contest[contest.contender == f"pytorch/{name}/cpu/1"].groupby("round").log
            for name in (control, "tuned")
        ]
        apart = [
            one - other
            for number, own in sides[0]
            for one in own
            for other in sides[1].get_group(number)
        ]
        found.append(float(np.median(apart)))
    return found


@pytest.mark.parametrize("workload", ["mlp", "mnist-cnn"])
def test_a_row_follows_from_the_committed_records(workload: str) -> None:
    folders = [next((study / "machines").iterdir()) for study in COMMITTED]
    logs = [log for folder in folders for log in recomputed(folder, workload, "tuned+10%")]
    errors = np.array(logs) - np.log(1.1)
    low, high = stats.t.interval(0.95, len(errors) - 1, errors.mean(), stats.sem(errors))
    row = next(
        row for row in pooled(trials(COMMITTED)) if (row.workload, row.slowed_by) == (workload, 0.1)
    )
    assert (row.whom, row.waits, row.contests) == ("PyTorch, tuned, CPU, 1 thread", 0.25, 10)
    assert row.studies == pytest.approx([errors[:5].mean(), errors[5:].mean()])
    assert row.error
    assert (row.error.mean, row.error.low, row.error.high) == pytest.approx(
        (errors.mean(), low, high)
    )


def test_kinds_of_controls_are_rows_and_a_control_that_only_waits_is_apart(studies: Path) -> None:
    rows = {(row.slowed_by, row.waits): row for row in pooled(trials([studies]))}
    assert set(rows) == {(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)}
    for row in rows.values():
        assert (len(row.studies), row.contests) == (2, 8)
    slowed, waits = rows[0.1, 0.1], rows[0.0, 0.1]
    assert waits.only_waits and not slowed.only_waits
    assert slowed.error and slowed.beside and waits.error and not waits.beside
    assert slowed.error.mean == pytest.approx(0, abs=0.03)
    assert waits.error.mean == pytest.approx(np.log(1.05), abs=0.03)
    # one divided by the other: the same contests, so the logarithms nearly add up
    assert slowed.error.mean - slowed.beside.mean == pytest.approx(waits.error.mean, abs=0.01)


def test_a_contest_of_several_contenders_counts_once(studies: Path) -> None:
    tried = trials([studies / "study1"])
    (twin,) = [one for one in tried if not one.waits]
    other = replace(twin, original=twin.original._replace(threads=2), error=twin.error + 0.02)
    (row,) = pooled([twin, other])
    assert (row.whom, row.contests) == ("2 contenders", 4)
    assert row.error and row.error.mean == pytest.approx(twin.error.mean() + 0.01)


def test_intervals_of_single_studies_are_counted(studies: Path) -> None:
    tried = [one for one in trials([studies]) if not one.waits]  # the twins
    right = [replace(one, error=one.error - one.error.mean()) for one in tried]
    wrong = [replace(one, error=one.error + 1) for one in tried]
    assert coverage(one.error for one in [*right, *wrong]) == (2, 4)
    assert "| mlp | twin | 4 | 2 | 3.8 |" in markdown([*right, *wrong], "the command")


def test_the_command_writes_a_page_or_says_why_not(
    studies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    assert main([str(studies), "--out", str(page)]) == 0
    text = page.read_text()
    assert re.search(
        r"\| mlp \| PyTorch, tuned, CPU, 1 thread \| slowed by 10 % \| 10 % \| 2 \| 8 \|", text
    )
    assert f"python -m analysis.repeats.calibration {studies} --out {page}" in text
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "no study in these folders has a control" in capsys.readouterr().err


def test_a_contest_is_not_counted_twice(studies: Path) -> None:
    folder = studies / "study1"
    copy = studies / "copy"
    copy.symlink_to(folder)
    with pytest.raises(RecordError, match="is in another folder, too"):
        trials([folder, copy])


@pytest.mark.all
def test_the_committed_page_is_what_the_committed_records_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    committed = (ROOT / "docs/calibration.md").read_text()
    command = committed.split("```sh\n")[-1].splitlines()[0].split()
    folders = command[command.index("analysis.repeats.calibration") + 1 : command.index("--out")]
    assert committed == markdown(trials([Path(one) for one in folders]), " ".join(command))

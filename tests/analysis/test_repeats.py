"""Whole studies held next to each other: what agrees, what contradicts, what is no repeat."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.repeats.__main__ import main
from analysis.repeats.page import sentences
from analysis.repeats.rows import Repeat, between, chance_of_gap, concord, gap, repeats
from analysis.repeats.runs import runs
from tests.analysis.synthetic import Recipe, write
from tests.conftest import ROOT
from workflows.records import storage
from workflows.records.schema import MachineRecords
from workflows.records.storage import RecordError

SMALL = Recipe(workloads=("mnist-cnn",), threads=(1,), variants=("default",))
Make = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Make:
    """`run(2, key=value ...)`: the folder of a study of its own year and seed."""

    def make(number: int, **changes: Any) -> Path:
        recipe = replace(SMALL, seed=number, year=2020 + number, study=f"default-{number}")
        return write(tmp_path / str(number), replace(recipe, **changes))

    return make


def held(*folders: Path) -> list[Repeat]:
    return repeats(runs(folders))


def step(ms: float) -> dict[tuple[str, str, str], float]:
    return {("mnist-cnn", "tensorflow", "default"): ms}


def test_studies_of_one_truth_agree(
    run: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [run(number) for number in (1, 2, 3)]
    (row,) = held(*folders)
    assert row.verdicts == "agree" and row.apart == [] and row.sound
    assert row.p is not None and row.p == row.p_adjusted and row.p > 0.05
    ratios = [found.estimate.ratio for found in row.found if found and found.estimate.ratio]
    assert len(ratios) == 3 and row.spread == pytest.approx(max(ratios) / min(ratios) - 1)
    out = tmp_path / "docs" / "repeats.md"
    assert main([*map(str, folders), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    said = "All 3 pairs of 95 % intervals overlap; of so many, 0.02 would not by chance alone."
    assert said in printed and said in out.read_text()
    for found in row.found:
        assert found and f"| {found.estimate.ratio:.3f} (" in out.read_text()
    before = out.read_bytes()
    assert main([*map(str, reversed(folders)), "--out", str(out)]) == 0
    assert out.read_bytes().splitlines()[:20] == before.splitlines()[:20]  # sorted by time


def test_faster_and_slower_contradict(run: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [run(1), run(2, ms=step(42.0)), run(3)]
    (row,) = held(*folders)
    assert row.verdicts == "contradict"
    assert row.apart == [(0, 1), (1, 2)]
    assert row.p_adjusted is not None and row.p_adjusted < 1e-6
    assert main([str(folder) for folder in folders]) == 1
    printed = capsys.readouterr().out
    assert "contradict, faster in run 1 and run 3 and slower in run 2" in printed
    assert "1 of 3 pairs" in printed
    assert "The runs differ by more than their replicates explain in mnist-cnn" in printed


def test_too_wide_to_tell_is_no_contradiction(run: Make) -> None:
    near = step(20.2)
    (row,) = held(run(1, ms=near, process_sd=0.005), run(2, ms=near, process_sd=0.1))
    assert [found.estimate.verdict for found in row.found if found] == ["faster", "cannot tell"]
    assert row.verdicts == "differ in resolution" and row.sound


def test_more_variance_between_runs_than_within_is_found(run: Make) -> None:
    rows = held(run(1, ms=step(11.0)), run(2, ms=step(12.0)), run(3, ms=step(11.5)))
    assert rows[0].verdicts == "agree" and rows[0].p_adjusted is not None
    assert rows[0].p_adjusted < 0.05


def test_what_only_some_runs_measured_is_not_shown(run: Make) -> None:
    lost = {("mnist-cnn", n, "tensorflow/default/cpu/1"): "out of memory" for n in range(1, 8)}
    folders = [run(1), run(2, absent=lost)]
    (row,) = held(*folders)
    assert row.verdicts == "not in all runs" and row.found[1] is None and row.p is None
    assert main([str(folder) for folder in folders]) == 1
    (row,) = held(run(5, replicates=1), run(6, replicates=1))
    assert row.verdicts == "agree" and not row.sound  # without intervals nothing overlaps


def test_nothing_in_common_is_said(run: Make) -> None:
    folders = [run(1, frameworks=("pytorch",)), run(2, frameworks=("pytorch",))]
    assert list(sentences(held(*folders), runs(folders))) == [
        "No run has a ratio, so there is nothing to compare."
    ]
    assert main([str(folder) for folder in folders]) == 1


def reconfigured(folder: Path, change: Callable[[MachineRecords], object]) -> Path:
    path = folder / "records.json"
    records = storage.read_json(path, MachineRecords)
    change(records)
    storage.write_json(path, records)
    return folder


def upgraded(records: MachineRecords) -> None:
    for contender in records.contests[0].contenders:
        contender.versions = {**contender.versions, "torch": "3.0"}


OTHERWISE: dict[str, tuple[dict[str, Any], Callable[[MachineRecords], object] | None, str]] = {
    "machine": ({"machine": "laptop"}, None, "different machines"),
    "the same contests": ({"year": 2021}, None, "contest 1 of mnist-cnn, held 2021"),
    "reference": ({"reference": "tensorflow"}, None, "reference is 'pytorch' in one"),
    "workloads": ({"workloads": ("mlp",)}, None, "workloads differ"),
    "contenders": ({"variants": ("default", "tuned")}, None, "contenders differ"),
    "data": ({"mnist": "stand-in"}, None, "datasets differ: mnist data"),
    "versions": ({}, upgraded, "torch is '2.13.0' in one and '2.13.0, 3.0' in the other"),
    "margin": ({}, lambda r: setattr(r.study, "margin", 0.1), "margin is 0.03 in one and 0.1"),
    "contest": (
        {}, lambda r: r.study.configuration.update(contest={"rounds": 4}), "contest.rounds is None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERWISE)
def test_what_is_no_repeat_is_refused(
    run: Make, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, change, reason = OTHERWISE[case]
    folders = [run(1), run(2, **changes)]
    if change:
        reconfigured(folders[1], change)
    with pytest.raises(RecordError, match=reason):
        runs(folders)
    assert main([str(folder) for folder in folders]) == 2
    assert "not repeats of each other" in capsys.readouterr().err


def test_what_measures_nothing_may_differ(run: Make) -> None:
    changes = {
        "seed": 9,
        "certificate": {"steps": 9},
        "target_precision": 0.01,
        "mnist": {"folder": "x"},
    }
    other = reconfigured(
        run(2, replicates=5), lambda records: records.study.configuration.update(changes)
    )
    assert len(runs([run(1), other])) == 2


def test_one_run_is_too_few(run: Make) -> None:
    with pytest.raises(RecordError, match="two runs at least"):
        runs([run(1)])


def test_rows_without_an_interval_overlap_with_nothing(findings: Findings) -> None:
    row: Comparison = findings.comparisons[0]
    bare = replace(row, estimate=replace(row.estimate, ratio_low=None, ratio_high=None))
    far = replace(row, estimate=replace(row.estimate, ratio_low=8.0, ratio_high=9.0))
    same = replace(row, estimate=replace(row.estimate, verdict="equivalent"))
    assert gap(row, far) and gap(far, row)
    assert not gap(row, row) and not gap(row, bare) and not gap(bare, row) and not gap(None, row)
    other = replace(row, base=row.base._replace(framework="jax"))
    assert concord([row, other]) == "not in all runs"
    assert concord([row, same]) == "differ in resolution"


def test_variance_between_runs_with_two_runs_is_welchs_t() -> None:
    one, other = [0.1, 0.12, 0.09, 0.11], [0.15, 0.1, 0.22]
    expected = stats.ttest_ind(one, other, equal_var=False).pvalue
    assert between([one, other]) == pytest.approx(expected)
    assert between([one]) is None and between([one, [0.1]]) is None
    assert between([one, [0.1, 0.1, 0.1]]) is None


def test_equal_runs_are_told_apart_one_time_in_twenty() -> None:
    random = np.random.default_rng(6)
    scatters = np.array([[0.02], [0.03], [0.06]])  # weather is not alike on all days
    p = [between((scatters * random.normal(0, 1, (3, 7))).tolist()) for _ in range(1000)]
    # binomial: 5 % of 1000, three standard deviations either way
    assert 29 <= sum(value is not None and value < 0.05 for value in p) <= 71


def test_how_often_intervals_are_apart_by_chance() -> None:
    random = np.random.default_rng(7)
    logs = random.normal(0, 1, (40_000, 2, 7))
    half = stats.t.isf(0.025, 6) * logs.std(axis=2, ddof=1) / math.sqrt(7)
    means = logs.mean(axis=2)
    apart = np.mean(np.abs(means[:, 0] - means[:, 1]) > half.sum(axis=1))
    assert chance_of_gap(7, 7, 0.95) == pytest.approx(apart, abs=4 * math.sqrt(0.0054 / 40_000))


@pytest.mark.parametrize(
    "name",
    [
        "repeats.md",
        "repeats-six-studies.md",
        "repeats-eight-replicates.md",
        "repeats-twelve-rounds.md",
        "repeats-six-rounds.md",
    ],
)
def test_the_committed_page_is_of_its_records(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / name).read_text()
    text, command = page.split("Made by")
    words = command.replace("```", "").split()
    folders = words[words.index("analysis.repeats") + 1 : words.index("--out")]
    assert main([*folders, "--out", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text().split("Made by")[0] == text

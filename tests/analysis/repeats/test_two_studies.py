"""Two studies side by side: what changed around them, and which ratios moved."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.data.reading import load
from analysis.repeats.__main__ import main
from analysis.repeats.changes import changes, unrecorded
from analysis.repeats.two import Two, side_by_side
from analysis.repeats.two_page import WIDTH, answer, apart, markdown
from analysis.stats.inference import Estimate, estimate
from analysis.stats.series import same_truth
from tests.analysis.recipe import ENVIRONMENT
from tests.analysis.repeats.test_repeats import (
    kept,
    reconfigured,
    step,
    tensorflow_with,
    upgraded,
    wider,
)
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import RecordError

Make = Callable[..., Path]


def two(first: Path, second: Path, *earlier: Path) -> Two:
    return side_by_side(*(load([f])[0] for f in (first, second)), [load([f])[0] for f in earlier])


def changed(found: Two) -> dict[str, tuple[str, str]]:
    return {one.what: (one.before, one.after) for one in changes(found.first, found.second)}


def test_equal_studies_stay_within_the_prediction(study: Make) -> None:
    found = two(study(1), study(2))
    (row,) = found.rows
    assert row.beyond is False and not row.moved.crossed
    assert row.change == pytest.approx(row.after.ratio / row.before.ratio - 1)  # type: ignore[operator]
    first, *_ = answer(found)
    assert first == "0 of 1 ratio moved further than A predicts; none changed direction."


def test_the_prediction_is_of_both_intervals(study: Make) -> None:
    """The half-width is Welch's, from the standard errors of both studies' replicates."""
    (row,) = two(study(1), study(2, replicates=4)).rows
    assert row.expected and row.before.ratio
    errors = [
        math.log(one.ratio_high / one.ratio_low) / 2 / stats.t.ppf(0.975, one.replicates - 1)  # type: ignore[operator]
        for one in (row.before, row.after)
    ]
    variances = [error**2 for error in errors]
    free = sum(variances) ** 2 / (variances[0] ** 2 / 6 + variances[1] ** 2 / 3)
    half = stats.t.ppf(0.975, free) * math.sqrt(sum(variances))
    assert math.log(row.expected[1] / row.before.ratio) == pytest.approx(half)
    assert math.log(row.before.ratio / row.expected[0]) == pytest.approx(half)


def test_a_prediction_covers_as_often_as_it_says() -> None:
    random, seen = np.random.default_rng(1), 0
    for _ in range(2000):
        one, other = (estimate(random.normal(0.3, sd, n).tolist(), 0.05, 0.95)
                      for n, sd in ((8, 0.02), (5, 0.06)))  # fmt: skip
        errors = one.standard_error(0.95), other.standard_error(0.95)
        assert one.ratio and other.ratio and errors[0] and errors[1]
        low, high = same_truth(math.log(one.ratio), (errors[0], errors[1]), (8, 5), 0.95)
        seen += low <= math.log(other.ratio) <= high
    assert 0.935 <= seen / 2000 <= 0.965


def test_without_any_scatter_the_prediction_is_a_point() -> None:
    assert same_truth(0.3, (0.0, 0.0), (5, 5), 0.95) == (0.3, 0.3)


def test_a_ratio_that_moved_is_found_with_its_direction(
    study: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [study(1), study(2, ms=step(42.0))]
    found = two(*folders)
    (row,) = found.rows
    assert row.beyond and row.moved.crossed and row.moved.contradicted
    first, *_ = answer(found)
    assert first == (
        "1 of 1 ratio moved further than A predicts; 1 changed direction, 1 with opposite verdicts."
    )
    assert main([str(folder) for folder in folders]) == 1
    printed = capsys.readouterr().out
    assert first in " ".join(printed.split())
    assert "TensorFlow to PyTorch †, 1 thread" in printed and "opposite" in printed
    assert max(map(len, printed.splitlines())) <= WIDTH


def test_a_series_predicts_instead_of_one_interval(study: Make) -> None:
    """Studies that move by 10 % expect a study that moves by as much."""
    moved = study(5, ms=step(11.9))
    alone = two(study(1), moved)
    series = [study(n, ms=step(ms)) for n, ms in ((2, 10.0), (3, 12.0), (4, 11.2))]
    together = two(study(6), moved, *series)
    assert alone.rows[0].beyond and together.rows[0].beyond is False
    first, *more = answer(together)
    assert "further than the 4 studies of A's series predict" in first
    assert not any("--earlier" in text for text in more)
    assert any("--earlier" in text for text in answer(alone))


def test_one_replicate_predicts_nothing(study: Make) -> None:
    found = two(study(1), study(2, replicates=1))
    assert found.rows[0].beyond is None
    first, *_ = answer(found)
    assert first.startswith("No ratio has a prediction, which takes two replicates in each study")


def test_another_machine_with_other_versions_is_compared(study: Make, tmp_path: Path) -> None:
    cpu = {
        **ENVIRONMENT["cpu"], "model": "Intel Xeon", "caches_kib": {"L1d": 48, "L2": 2048, "L3": 9},
        "flags": ["avx", "avx2", "avx512f", "fma"],
    }  # fmt: skip
    system = {"name": "Debian GNU/Linux 13 (trixie)", "kernel": "Linux 6.12.1", "boot": "b"}
    other = study(2, machine="xeon", system_info={
        **ENVIRONMENT, "cpu": cpu, "system": system, "variables": {"MALLOC_ARENA_MAX": "1"},
    })  # fmt: skip

    def newer(records: MachineRecords) -> None:
        tensorflow_with(records, blas="Eigen")
        for contest in records.contests:
            contest.code = contest.code.model_copy(update={"commit": "2" * 40, "dirty": True})
        measured = [one for contest in records.contests for one in contest.contenders]
        for one in [*measured, *(row for c in records.certificates for row in c.rows)]:
            if "torch" in one.versions:
                one.versions = {**one.versions, "torch": "2.14.0"}

    found = two(study(1), reconfigured(other, newer))
    assert len(found.rows) == 1 and not found.apart
    differ = changed(found)
    assert differ["machine"] == ("amd-epyc-9b14-2c-1a2b3c", "xeon")
    assert differ["processor"] == ("AMD EPYC", "Intel Xeon")
    assert differ["L2 cache, KiB"] == ("1024", "2048")
    assert differ["features of one processor only"] == ("none", "avx512f")
    assert differ["kernel"] == ("Linux 6.18.44", "Linux 6.12.1")
    assert differ["start of the machine"] == ("start-1", "b")
    assert differ["torch"] == ("2.13.0", "2.14.0")
    assert differ["commit of samestep"][1] == "2222222"
    assert differ["uncommitted changes"] == ("no", "yes")
    assert differ["TensorFlow: blas"] == ("oneDNN", "Eigen")
    assert differ["variable MALLOC_ARENA_MAX"] == ("not set", "1")
    assert not {"memory, GiB", "numpy", "keras", "load_average", "study"} & set(differ)
    out = tmp_path / "page.md"
    assert main([str(tmp_path / "1"), str(tmp_path / "2"), "--out", str(out)]) == 0
    text = out.read_text()
    assert "| processor | AMD EPYC | Intel Xeon |" in text and "# Two studies" in text


def test_nothing_changed_but_the_day(study: Make) -> None:
    found = two(study(1, "night"), study(2, "night"))
    assert changed(found) == {} and unrecorded(found.first, found.second) == []
    assert "Nothing that was recorded changed." in markdown(found, "command")


def test_what_only_one_recorded_is_named_apart(study: Make) -> None:
    found = two(study(1, "night"), study(2, **kept("1000")))
    names = ["free pages kept by each core", "start of the machine"]
    assert unrecorded(found.first, found.second) == names
    assert "free pages kept by each core" not in changed(found)


def test_the_configuration_is_compared_by_key(study: Make) -> None:
    found = two(study(1), study(2, rounds=12))
    assert changed(found)["configuration: contest.rounds"] == ("8", "12")
    assert "configuration: contest.turn" not in changed(found)


def test_what_is_not_the_same_work_is_not_compared(
    study: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [study(1), reconfigured(study(2), wider)]
    found = two(*folders)
    assert found.rows == []
    assert apart(found) == [
        "MNIST CNN, TensorFlow to PyTorch, as in the tutorials, 1 thread: not the same workload: "
        "batch is 64 in A and 128 in B."
    ]
    assert main([str(folder) for folder in folders]) == 2
    assert "No ratio can be compared." in capsys.readouterr().out
    (only,) = two(study(3), study(4, mnist="stand-in")).apart
    assert only.reason == "not the same data: mnist in A, stand-in in B"


def test_more_samples_are_the_same_work(study: Make) -> None:
    def fewer(records: MachineRecords) -> None:
        description = records.workloads[0].description
        records.workloads[0].description = {
            **description, "dataset": {**description["dataset"], "samples": 10_000},
        }  # fmt: skip
        records.datasets[0].samples = 10_000
        records.datasets[0].batches = 10_000 // description["batch"]

    found = two(study(1), reconfigured(study(2), fewer))
    assert len(found.rows) == 1 and changed(found)["samples of MNIST CNN"] == ("60,000", "10,000")


def test_what_one_study_lacks_is_said_with_its_reason(study: Make) -> None:
    lost = {("mnist-cnn", n, "tensorflow/default/cpu/1"): "out of memory" for n in range(1, 8)}
    (only,) = two(study(1), study(2, absent=lost)).apart
    assert "B: " in only.reason and "out of memory" in only.reason
    found = two(study(3), study(4, threads=(1, 2)))
    assert len(found.rows) == 1
    assert [one.reason for one in found.apart] == ["only in B"]
    assert two(study(5, frameworks=("pytorch",)), study(6)).rows == []


def test_studies_with_another_reference_are_compared_pair_by_pair(study: Make) -> None:
    found = two(study(1), study(2, reference="tensorflow"))
    (row,) = found.rows
    assert (row.id.framework, row.moved.base.framework) == ("tensorflow", "pytorch")
    assert row.beyond is False and not found.apart
    assert changed(found) == {"start of the machine": ("start-1", "start-2")}


def test_the_other_side_of_an_estimate() -> None:
    one = estimate([0.1, 0.12, 0.11], 0.05, 0.95)
    other = estimate([-0.1, -0.12, -0.11], 0.05, 0.95)
    assert one.verdict == "slower" and one.inverse.verdict == "faster"
    for mine, theirs in zip(one.inverse.ends, other.ends, strict=True):
        assert mine == pytest.approx(theirs)
    assert Estimate().inverse == Estimate()


def test_the_same_study_twice_is_refused(study: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = study(1)
    with pytest.raises(RecordError, match="is in both studies"):
        two(folder, folder)
    assert main([str(folder), str(folder)]) == 2
    with pytest.raises(RecordError, match="not repeats of each other"):
        two(study(2), study(3), reconfigured(study(4), upgraded))
    said = capsys.readouterr().err
    assert said.startswith(f"repeats: {folder} and {folder}: contest 1") and "name two" in said


def test_earlier_studies_need_two(study: Make) -> None:
    with pytest.raises(SystemExit):
        main([*(str(study(n)) for n in (1, 2, 3)), "--earlier", str(study(4))])

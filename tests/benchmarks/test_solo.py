"""Contenders in turns and alone: what is measured, and what the page says of it."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.solo.__main__ import COMMAND, main
from benchmarks.solo.page import page, ratios, sentences, times
from benchmarks.solo.records import Run, Solo, read, write
from tests.conftest import ROOT
from tests.workflows.conftest import make_study, several
from workflows.records.schema import Code, Contender

RECORDS = sorted((ROOT / "benchmarks/solo/records").glob("*.json"))


def made_up(alone: float = 1.0, slower: float = 1.0, cycles: int = 5) -> Solo:
    """PyTorch takes 20 ms, TensorFlow half as long in turns, and `alone` times that ratio alone;
    both take `slower` times as long alone."""
    random = np.random.default_rng(1)
    shapes = {"turns": (8, 3), "alone": (1, 31)}
    runs = [
        Run(
            cycle=cycle,
            way=way,
            workload="mlp",
            contender=Contender(framework=name, variant="default", device="cpu", threads=threads),
            took_s=3.0,
            ms=(
                20 * (0.5 if name == "tensorflow" else 1)
                * (slower * (alone if name == "tensorflow" else 1) if way == "alone" else 1)
                * np.exp(random.normal(0, 0.01, shapes[way]))
            ).tolist(),
        )
        for cycle in range(1, cycles + 1)
        for way in ("turns", "alone")
        for name in ("pytorch", "tensorflow")
        for threads in (1, 2)
    ]  # fmt: skip
    return Solo(
        machine="here", summary="a machine", started="2026-11-23T14:00:00+00:00",
        ended="2026-11-23T14:08:00+00:00", code=Code(version="1", commit="", dirty=False),
        versions={"torch": "2.13.0"}, reference="pytorch",
        titles={"pytorch": "PyTorch", "tensorflow": "TensorFlow"},
        warmup=5, rounds=8, turn=4, discard=1, runs=runs,
    )  # fmt: skip


@pytest.mark.parametrize(("alone", "within"), [(1.0, 2), (1.2, 0)])
def test_a_ratio_that_changes_alone_is_told_from_one_that_does_not(
    alone: float, within: int
) -> None:
    solo = made_up(alone, slower=0.9)
    rows = ratios(solo)
    assert [(row.id.framework, row.id.threads) for row in rows] == [
        ("tensorflow", 1), ("tensorflow", 2),
    ]  # fmt: skip
    for row in rows:
        assert np.exp(row.turns.mean) == pytest.approx(0.5, rel=0.02)
        assert np.exp(row.alone.mean) == pytest.approx(0.5 * alone, rel=0.02)
        assert np.exp(row.change.mean) == pytest.approx(alone, rel=0.02)
    assert f"For {within} of 2 ratios, the interval" in sentences(solo)


def test_the_unit_is_the_cycle() -> None:
    """As many mini-batches in fewer cycles leave a wider interval."""
    few, many = (ratios(made_up(cycles=n))[0].change for n in (3, 12))
    assert (few.n, many.n) == (3, 12)
    assert few.low and few.high and many.low and many.high
    assert few.high - few.low > 1.5 * (many.high - many.low)


def test_a_contenders_own_time_may_change_without_its_ratio() -> None:
    solo = made_up(slower=0.9)
    assert {row.id.framework for row in times(solo)} == {"pytorch", "tensorflow"}
    for row in times(solo):
        assert np.exp(row.change.mean) == pytest.approx(0.9, rel=0.02)


def test_another_direction_alone_is_named() -> None:
    assert "The direction is another alone" not in sentences(made_up())
    assert "The direction is another alone: mlp tensorflow/default/cpu/1" in sentences(
        made_up(alone=2.5)
    )


def test_records_are_read_as_written(tmp_path: Path) -> None:
    solo = made_up(cycles=2)
    write(tmp_path / "solo.json", solo)
    assert read(tmp_path / "solo.json") == solo
    assert len((tmp_path / "solo.json").read_text().splitlines()) < 2 * len(solo.runs) + 40


def test_a_study_is_measured_in_turns_and_alone(abacus: str, tmp_path: Path) -> None:
    workloads = {"mlp": {"features": 20, "hidden": [8], "samples": 400, "batch": 4}}
    workloads["wide"] = {"from": "mlp", **workloads["mlp"], "hidden": [16]}
    study = make_study(
        tmp_path, contenders=several("default", "kept", "slow"), workloads=workloads, noop=True,
        controls={},
    )  # fmt: skip
    out, shown = tmp_path / "records/solo.json", tmp_path / "solo.md"
    out.parent.mkdir()
    command = ["--study", str(study.folders.root), "--variants", "default", "kept"]
    assert main([*command, "--minutes", "0", "--out", str(out), "--page", str(shown)]) == 0
    solo = read(out)
    seen = {(run.cycle, run.way, run.workload, run.contender.variant) for run in solo.runs}
    assert len(seen) == len(solo.runs) == 3 * 2 * 2 * 2  # three cycles at least
    assert {run.contender.framework for run in solo.runs} == {"abacus"}
    for run in solo.runs:
        assert [len(turn) for turn in run.ms] == ([3] * 4 if run.way == "turns" else [15])
        assert min(map(min, run.ms)) > 0
    assert "3 cycles on `here`" in shown.read_text()


def test_a_contender_that_fails_ends_the_measurement(
    abacus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(tmp_path, contenders=several("default", "raises"))
    command = ["--study", str(study.folders.root), "--variants", "default", "raises"]
    assert main([*command, "--minutes", "0", "--out", str(tmp_path / "solo.json")]) == 1
    assert "abacus/raises/cpu/1 failed on mlp" in capsys.readouterr().err
    assert main([*command[:2], "--variants", "none", "--out", str(tmp_path / "solo.json")]) == 1
    assert "no contender can run here in variant none" in capsys.readouterr().err


@pytest.mark.skipif(not RECORDS, reason="nothing has been recorded yet")
def test_the_page_is_that_of_the_records() -> None:
    assert (ROOT / "docs/solo.md").read_text() == page(map(read, RECORDS), COMMAND)


def test_a_damaged_record_is_named_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.json").write_text("garbage")
    assert main([str(tmp_path / "one.json")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"solo: {tmp_path}/one.json: ") and said.count("\n") == 1

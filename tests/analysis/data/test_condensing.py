"""A study of long turns is read in few rows, and says the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from analysis.data import condensing, reading
from analysis.data.condensing import condensed
from analysis.data.turns import in_one_piece
from analysis.findings.findings import Findings
from analysis.report.sections.measuring.method import turns
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from workflows.records.machine_folder import open_machine, write_machine

LONG = Recipe(workloads=("mlp",), threads=(1,), replicates=3, rounds=4, turn=150, discarded=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("long") / "machine", LONG)


def test_a_turn_keeps_its_sums_its_ends_and_its_losses(folder: Path) -> None:
    table = in_one_piece([*open_machine(folder)[1].tables])
    loss = table["loss"].to_numpy().copy()
    loss[77], loss[200] = np.nan, np.inf
    table = table.set_column(table.schema.get_field_index("loss"), "loss", pa.array(loss))
    keys = ["contender", "replicate", "round", "warmup"]
    few = condensed(table, 12).to_pandas()
    many = table.to_pandas().assign(weight=1)
    sizes = few.groupby(keys).size()
    assert sizes.max() == 12 and few["weight"].sum() == len(many)
    for name in ("data_ns", "transfer_ns", "step_ns", "cpu_ns", "switches"):
        each = 1 if name == "switches" else few["weight"]
        mine, theirs = ((rows[name] * w).groupby([rows[key] for key in keys]).sum()
                        for rows, w in ((few, each), (many, 1)))  # fmt: skip
        assert np.allclose(mine, theirs, rtol=1e-5)
    few, many = few.sort_values("step"), many.sort_values("step")
    for end in ("first", "last"):
        ends = [getattr(rows.groupby(keys), end)()["step"] for rows in (few, many)]
        assert ends[0].equals(ends[1])
    kept = few.merge(many, on=[*keys, "step"])
    assert (kept["loss_x"].eq(kept["loss_y"]) | kept["loss_x"].isna()).all()
    assert (~np.isfinite(few["loss"])).sum() == 2


def test_a_study_read_in_few_rows_says_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = Findings(reading.load([folder])[0])
    monkeypatch.setattr(reading, "LARGE", 1000)
    few = Findings(reading.load([folder])[0])
    assert len(few.machine.batches) < len(every.machine.batches) / 3
    for one, other in zip(few.contenders, every.contenders, strict=True):
        assert (one.batches, one.warmup_batches) == (other.batches, other.warmup_batches)
        assert one.first_batch_ms == other.first_batch_ms
        if one.time.value:
            assert one.time.value == pytest.approx(other.time.value, rel=0.003)
            for name in ("q25_ms", "q75_ms"):
                assert getattr(one, name) == pytest.approx(getattr(other, name), rel=0.003)
            assert one.samples_per_s == pytest.approx(other.samples_per_s, rel=1e-6)
    assert few.loss_check == every.loss_check
    for mine, theirs in zip(few.comparisons, every.comparisons, strict=True):
        assert mine.estimate.verdict == theirs.estimate.verdict
        if theirs.estimate.ratio:
            assert mine.estimate.ratio == pytest.approx(theirs.estimate.ratio, rel=0.002)
    for start, other_start in zip(few.start, every.start, strict=True):
        assert start.total.value == pytest.approx(other_start.total.value, rel=1e-3)
    said = "Of long turns, mini-batches of similar times are read as their mean."
    assert turns(few) == f"{turns(every)} {said}"


@pytest.mark.parametrize("most", [8, 44])
@pytest.mark.parametrize("wrong", [0, 3, 70, 149])
def test_a_single_wrong_loss_of_a_long_turn_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int, most: int
) -> None:
    folder = write(tmp_path, replace(LONG, float64_turns=True))
    records, parts = open_machine(folder)
    table = in_one_piece([*parts.tables]).to_pandas()
    odd = (table["contender"] == "tensorflow/tuned/cpu/1") & (table["replicate"] == 2)
    place = table[odd & (table["round"] == 3)].index[wrong]
    table.loc[place, "loss"] *= 1.5
    write_machine(folder, records, pa.Table.from_pandas(table, preserve_index=False))
    monkeypatch.setattr(reading, "LARGE", 1000)
    monkeypatch.setattr(reading, "rows_of_a_turn", lambda records: most)
    (fault,) = Findings(reading.load([folder])[0]).loss_check.faults.values()
    assert f"the float32 loss of step {wrong + 1} in round 3 of replicate 2" in fault


@pytest.mark.parametrize(("turns", "rows"), [(10, 44), (50_000, 20), (10**6, 8)])
def test_more_turns_have_fewer_rows_each(
    turns: int, rows: int, found: Callable[[Recipe], Findings]
) -> None:
    records = found(Recipe(workloads=("mlp",), threads=(1,), replicates=1)).machine.records
    (contest,) = records.contests
    contest.order = contest.order[:1] * (turns // len(contest.contenders) - 1)
    assert condensing.rows_of_a_turn(records) == rows

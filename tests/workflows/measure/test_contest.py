import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads.datasets.batches import INPUTS, TARGETS
from tests.workflows.conftest import make_study, several
from workflows.measure.pool import contest_seed
from workflows.records.columns import BATCHES
from workflows.worker.probes import QUESTIONS


def test_every_mini_batch_is_a_row(contested):
    record, rows = contested
    deal = {"warmup": 2, "rounds": 4, "turn": 4}
    assert list(rows.columns) == BATCHES.names
    assert len(rows) == 3 * (deal["warmup"] + deal["rounds"] * deal["turn"])
    assert [c.status for c in record.contenders] == ["ok", "ok", "ok"]
    for _, own in rows.groupby("contender"):
        assert list(own.step) == list(range(len(own)))
        assert own.warmup.sum() == deal["warmup"] + deal["rounds"]  # one settles in each turn
        assert list(own[own["round"] == 0].batch) == [0, 1]
    assert (rows[["data_ns", "transfer_ns", "step_ns", "cpu_ns"]] >= 0).all().all()
    assert (rows.step_ns > 0).all()


def test_a_turn_goes_on_with_the_first_mini_batch_after_the_last_that_is_stored(study):
    """MNIST's test split has fewer than a workload asks for."""
    made = study(contenders=several("default", "kept"))
    for name in (INPUTS, TARGETS):
        path = made.folders.data / "mlp" / name
        np.save(path, np.load(path)[:5])
    record, rows = made.contest()
    assert [c.reason for c in record.contenders] == ["", ""]
    assert set(rows.batch) == set(range(5))


def test_turns_never_overlap_and_follow_the_recorded_order(contested):
    record, rows = contested
    rows = rows.sort_values("start_ns")
    ends = rows.start_ns + rows.data_ns + rows.transfer_ns + rows.step_ns
    assert (rows.start_ns.to_numpy()[1:] >= ends.to_numpy()[:-1]).all()
    for number, order in enumerate(record.order, 1):
        assert list(dict.fromkeys(rows[rows["round"] == number].contender)) == order


def test_all_train_on_the_same_mini_batches_from_the_same_weights(contested):
    _, rows = contested
    assert rows.groupby(["round", "batch"]).loss.nunique().eq(1).all()
    dealt = rows[rows["round"] > 0].groupby("round").batch.agg(["min", "max"])
    assert dealt["min"].is_monotonic_increasing and dealt["min"].is_unique


def test_contenders_are_pinned_to_the_same_cores(contested):
    record, _ = contested
    cores = [c.cores for c in record.contenders]
    assert cores[0] == cores[1] == cores[2]
    assert len(cores[0]) in (0, 1)  # no pinning outside Linux
    assert {c.settings["intra_threads"] for c in record.contenders} == {1}


def test_the_first_of_each_framework_imports_alone_and_is_timed(contested):
    record, _ = contested
    (imported,) = [c.import_s for c in record.contenders if c.import_s is not None]
    assert 0 < imported < 60


def test_a_contender_that_hangs_is_a_row_and_the_others_go_on(study):
    contest = {"warmup": 2, "rounds": 2, "turn": 4, "discard": 1, "timeout_s": 5}
    record, rows = study(contenders=several("default", "hangs"), contest=contest).contest()
    reasons = {c.variant: (c.status, c.reason) for c in record.contenders}
    assert reasons == {"default": ("ok", ""), "hangs": ("failed", "no answer within 5 s")}
    assert (rows.contender == "abacus/default/cpu/1").sum() == 2 + 2 * 4


def test_missing_contenders_are_in_the_record(study):
    record, _ = study(devices=["cpu", "gpu"]).contest()
    assert [(c.device, c.status, c.reason) for c in record.contenders] == [
        ("cpu", "ok", ""),
        ("gpu", "missing", "an abacus has no GPU"),
    ]


def test_thread_counts_come_from_the_contender_not_from_the_caller(study, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    record, _ = study().contest()
    assert record.contenders[0].settings["intra_threads"] == 1


def test_contenders_are_probed_once_and_keep_what_was_measured(study):
    made = study(contenders=several("default", "delicate"), replicates=2)
    record, rows = made.contest()
    right, delicate = (c.settings for c in record.contenders)
    assert right["effective_epsilon"] == 1e-8 and right["restart"] == "forgets"
    assert right["same_padding"] == "not supported: an abacus has no conv2d, flatten"
    assert "SIGKILL" in delicate["behaviour"] and "precision" in delicate
    assert [c.status for c in record.contenders] == ["ok", "ok"]
    assert rows.groupby("contender").size().nunique() == 1
    again, _ = made.contest(replicate=2)
    assert not set(QUESTIONS) & set(again.contenders[0].settings)


@pytest.mark.quiet
def test_a_slowed_contender_is_measured_as_slower(study):
    _, rows = study(contenders=several("default", "slow")).contest()
    medians = rows[~rows.warmup].groupby("variant").step_ns.median()
    assert medians["slow"] > medians["default"] + 2e6  # it sleeps for 2 ms


def test_every_contest_has_another_seed():
    seeds = {contest_seed(1, name, r) for name in ("mlp", "cnn") for r in range(50)}
    assert len(seeds) == 100
    assert contest_seed(1, "mlp", 1) == contest_seed(1, "mlp", 1)
    assert contest_seed(1, "mlp", 1) != contest_seed(2, "mlp", 1)


@pytest.mark.parametrize("hour_ns", [-3600 * 10**9, 3600 * 10**9])
def test_a_clock_that_jumps_changes_no_time(study, monkeypatch, hour_ns):
    hours = itertools.count(1_800_000_000 * 10**9, hour_ns)
    monkeypatch.setattr(time, "time_ns", lambda: next(hours))
    monkeypatch.setattr(time, "time", lambda: next(hours) / 1e9)
    record, rows = study().contest()
    assert record.duration_s > 0 and all(0 < turn.duration_s < 60 for turn in record.turns)
    test_turns_never_overlap_and_follow_the_recorded_order((record, rows))


def test_results_may_be_on_another_file_system_than_temporary_files(abacus, tmp_path):
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a file system in memory")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        made = make_study(Path(folder))
        made.contest()
        assert {row.status for row in made.certificate().rows} == {"agrees"}
        made.prepare()  # once more, in the place of the first
        assert made.findings(made.folders.root / "machine").contenders
        assert not list(Path(folder).rglob(".*"))

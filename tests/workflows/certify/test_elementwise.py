"""Single operations: certified by NumPy's results, timed, and set against the memory stream."""

from pathlib import Path

import numpy as np
import pytest

from analysis.findings.findings import Findings
from analysis.findings.speed.elementwise import ELEMENTWISE, firsts
from analysis.literature.studies import FIRST, OTHERS, POSITION, Pair, read
from analysis.report.page import write
from tests.workflows.conftest import SmallStudy, contest_on, findings_once, several
from workflows.certify.elementwise import ulps

OPERATION = {"divide": {"elements": 5000, "samples": 3, "repeat": 1}, "mlp": False}


def made(study, *variants, **workloads) -> SmallStudy:
    return study(
        contenders=several(*variants),
        workloads={**OPERATION, "mnist-cnn": False, **workloads},
        machine_speed=True,
        replicates=2,
        contest={"together": False, "warmup": 5, "rounds": 3, "turn": 3, "discard": 1},
    )  # fmt: skip


def test_a_wrong_operation_is_refused(study):
    found = made(study, "default", "wrong", "rounded").certificate(workload="divide")
    right, wrong, rounded = found.rows
    assert (right.status, right.ulp, right.unfenced) == ("agrees", 0, pytest.approx(0, abs=0.2))
    assert right.long.worst_loss == right.long.worst_weights == 0 and len(right.long.loss) == 3
    assert wrong.status == "refused" and 1 <= wrong.ulp < 4
    assert "units in the last place from NumPy's (allowed 0)" in wrong.reason
    assert rounded.status == "refused" and rounded.ulp == 0
    assert rounded.reason == "loss() is not the mean of the result of step 1"


def test_an_operation_that_an_adapter_lacks_is_a_row_with_its_reason(study):
    (row,) = made(study, "default", copy={"elements": 100}).certificate(workload="copy").rows
    assert (row.status, row.reason) == ("missing", "no operation of the kinds divide")


def test_distances_are_in_units_in_the_last_place():
    right = np.array([1, 3, 1e-3], np.float32)
    assert ulps(right.copy(), right) == 0
    off = np.nextafter(right, np.float32(9))
    assert ulps(off, right) == 1 and ulps(np.nextafter(off, np.float32(9)), right) == 2
    assert ulps(np.array([1, np.nan, 1], np.float32), right) == np.inf


@pytest.fixture(scope="session")
def found(surroundings: None, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    def measure(study, machine: Path) -> None:
        small = made(study, "default", "kept", "wrong", "unwatched")
        small.certificate(workload="divide")
        for replicate in (1, 2):
            small.contest(replicate, "divide")
        small.findings(machine)

    return findings_once(tmp_path_factory, "single operations", measure)


def test_times_are_of_one_operation_without_transfer(found):
    rows = {row.id.variant: row for row in ELEMENTWISE.of(found)}
    assert set(rows) == {"default", "kept", "wrong", "unwatched"}
    assert not {"default", "kept"} & {one.variant for one in found.loss_check.faults}
    row, one = rows["default"], rows["default"].id
    steady = found.batches[~found.batches["warmup"] & (found.batches["contender"] == one.contender)]
    medians = steady.groupby("replicate")["step_ms"].median()
    assert row.typical_us == pytest.approx(1000 * np.exp(np.log(medians).mean()))
    assert row.us.low < row.us.value < row.us.high and row.transfer_us > 0
    assert row.gb_per_s == pytest.approx(3 * 4 * 5000 / row.typical_us / 1000) and row.share > 0
    assert (row.elements, row.repeat, row.replicates, row.ulp) == (5000, 1, 2, 0)
    assert (row.certificate, row.reason, row.first_replicates) == ("agrees to 0", "", 2)
    assert rows["wrong"].certificate == "" and "from NumPy's" in rows["wrong"].reason
    assert "in round 0 of replicate 1 differs by" in rows["unwatched"].reason
    assert "from NumPy's (tolerance" in rows["unwatched"].reason
    settings = found.machine.contests("divide")[1].contenders[0].settings
    assert "loss_taken" not in settings  # probes train networks


def test_the_first_of_five_is_set_against_the_median_of_the_next_four(found):
    one = next(row.id for row in ELEMENTWISE.of(found))
    rows = found.batches[found.batches["contender"] == one.contender]
    first = rows[rows["round"] == 0].sort_values(["replicate", "step"])
    times = first["step_ms"].to_numpy().reshape(2, 5)
    expected = np.log(times[:, 0] / np.median(times[:, 1:], axis=1))
    assert firsts(found.machine, one, rows) == pytest.approx(expected.tolist())


def test_a_report_says_what_was_compared_and_claims_are_judged_by_it(found, tmp_path):
    write([found.machine], tmp_path / "operations")
    text = (tmp_path / "operations" / "report.md").read_text()
    assert "## Single operations" in text and "with NumPy, number by number" in text
    assert "float64" not in text
    pairs = read(tmp_path / "operations").of(Pair(POSITION, FIRST, OTHERS))
    assert {row.id.variant: row.usable for row in pairs} == {
        "default": True, "kept": True, "wrong": False, "unwatched": False,
    }  # fmt: skip


def test_numpy_is_a_row_with_its_reason_if_it_has_more_threads_or_a_network(study):
    made = study(
        contenders=[*several("default"), {"framework": "numpy"}],
        threads=[1, 2],
        oversubscribe=True,
        workloads={**OPERATION, "mlp": {"features": 4, "hidden": [3]}, "mnist-cnn": False},
        contest={"together": True, "warmup": 2, "rounds": 2, "turn": 2, "discard": 1},
    )
    one, two = made.certificate("numpy", "divide").rows
    assert (one.status, one.ulp, one.versions["numpy"]) == ("agrees", 0, np.__version__)
    assert (two.status, two.reason) == ("missing", "NumPy's operations use one thread, not 2")
    for row in made.certificate("numpy", "mlp").rows[:1]:
        assert row.status == "missing" and row.reason.startswith("NumPy trains no network")
    made.contest()
    for workload, reason in (("divide", ""), ("mlp", "NumPy trains no network")):
        record, rows = contest_on(made.folders, "divide+mlp", workload)
        found = {own.name: own for own in record.contenders if own.framework == "numpy"}
        own, more = found["numpy/default/cpu/1"], found["numpy/default/cpu/2"]
        assert own.status == ("missing" if reason else "ok") and reason in own.reason
        assert more.status == "missing"
        assert (reason or "NumPy's operations use one thread, not 2") in more.reason
        assert ("numpy/default/cpu/1" in {*rows.contender}) is not bool(reason)
        if not reason:
            assert (own.settings["precision"], own.settings["device"]) == ("float32", "cpu")
            assert not {"precision", "device", "denormals", "freed_memory"} & {*own.stated}

"""Certificates of small studies: who agrees, who is refused, and whose row says why not."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import package
from tests.workflows.conftest import rows, several
from workflows.certify.certificate import Examination
from workflows.certify.runs import FAILED, Reference, Runner, run_with
from workflows.certify.stage import make_reference, side_by_side
from workflows.certify.summary import distance, summary
from workflows.planning.plan import PlannedContender
from workflows.progress import Progress
from workflows.records.schema import OptimiserRow
from workflows.records.storage import write_json
from workflows.stages.failures import failures, ways
from workflows.worker.process import WorkerDied

BRIEFLY = {"steps": 30, "optimisers": []}


def test_the_same_computation_agrees(certified):
    row = certified["kept"]
    assert row.status == "agrees"
    assert row.long.worst_loss <= 1e-12 and row.long.worst_weights <= 1e-12
    assert len(row.losses) == len(row.long.loss) == 50
    assert row.losses[-1] < row.losses[0]
    assert list(row.long.weights) == [0, 1, 2, 5, 10, 50]
    assert set(row.gradients) == set(row.rounding) == set(row.long.weights[50])
    assert max(row.gradients.values()) <= 1e-12
    assert 1e-9 < max(row.rounding.values()) < 1e-5
    assert len(row.restarted) == 10 and max(row.restarted) == 0
    assert len(row.float32) == 10 and 0 < max(row.float32) < 1e-4
    assert list(row.astray) == [2, 10] and len(row.again) == 10 and max(row.again) == 0
    assert all("dense1.kernel" in tensors for tensors in row.astray.values())
    assert max(max(found) for own in row.astray.values() for found in own.values()) < 1e-3
    assert row.unfenced <= 0.2 and row.reduced == "" and row.cause == ""


def test_other_optimisers_are_tried_and_one_that_is_not_there_is_no_reason_to_refuse(certified):
    row = certified["kept"]
    assert set(row.optimisers) == {"sgd", "momentum", "rmsprop"}
    assert row.optimisers["sgd"].status == "agrees" and row.optimisers["sgd"].run.worst_loss == 0
    assert row.optimisers["momentum"].status == "missing"
    assert row.optimisers["momentum"].reason == "an abacus has no momentum"
    assert row.status == "agrees"


def test_an_optimiser_that_the_reference_lacks_is_nobodys_failure(study, monkeypatch):
    has, lacked = Reference.has, run_with("sgd")
    monkeypatch.setattr(Reference, "has", lambda self, name: name != lacked and has(self, name))
    row = rows(study, "kept", certificate={"steps": 10, "optimisers": ["sgd"]})["kept"]
    found = row.optimisers["sgd"]
    assert (row.status, found.status) == ("agrees", "missing")
    assert found.reason == "the reference has no result with it to compare with"


def test_an_optimiser_that_failed_is_a_failure_of_the_study(study):
    made = study(
        contenders=several("default", "kept"), certificate={"steps": 10, "optimisers": ["sgd"]}
    )
    record = made.certificate()
    assert not [*failures(made.folders, made.plan.study)]
    record.rows[-1].optimisers["sgd"] = OptimiserRow(status="failed", reason="no beads left")
    (path,) = made.folders.root.glob("certificates/*/abacus.json")
    write_json(path, record)
    ((found, lines),) = failures(made.folders, made.plan.study)
    assert found == path
    assert lines == ["mlp, certificate: abacus/kept/cpu/1 with sgd: no beads left"]
    assert [way[:2] for way in ways(path)] == [("certificate", "abacus/kept/cpu/1 with sgd")]


def test_which_other_optimisers_is_configured(study):
    row = rows(study, "kept", certificate={"steps": 10, "optimisers": ["sgd"]})["kept"]
    assert set(row.optimisers) == {"sgd"}


@pytest.mark.parametrize(
    ("shares", "least", "asked"),
    [([0.1], 0.1, 1), ([0.5, 0.02], 0.02, 2), ([0.5, 0.4, 0.6, 0.1], 0.4, 3)],
)
def test_a_fence_is_examined_again_in_case_something_else_took_the_core(shares, least, asked):
    """What a fence leaves undone, it leaves every time."""
    left = list(shares)
    answers = {"load": dict, "fence": lambda: {"unfenced": left.pop(0)}}
    worker = SimpleNamespace(ask=lambda name, **given: answers[name]())
    runner = SimpleNamespace(load=lambda worker, narrow: None)
    contender = SimpleNamespace(framework="pytorch", variant="default")
    assert Runner.unfenced(runner, worker, contender) == least
    assert len(shares) - len(left) == asked


def test_state_that_deviates_moves_in_float32_as_in_its_own_float64():
    """Without float64 no state may deviate: tests/conformance/test_float32.py."""
    start = {"dense1.kernel": np.zeros(40), "batch_norm1.variance": np.ones(20)}
    exact = {"dense1.kernel": np.full(40, 0.1), "batch_norm1.variance": np.full(20, 1.2)}
    still = SimpleNamespace(weights={1: {**exact, "batch_norm1.variance": np.ones(20)}})
    examined = SimpleNamespace(
        runner=SimpleNamespace(workload=SimpleNamespace(idle=frozenset())),
        state={"batch_norm1.variance": None},
    )
    moves = Examination.moves(examined, still, SimpleNamespace(weights={0: start, 1: exact}))[1]
    assert moves["dense1.kernel"] == (0, 0)
    assert moves["batch_norm1.variance"] == (pytest.approx(1, rel=1e-5), 1)


def test_contenders_side_by_side_share_the_cores():
    def grouped(cores, *contenders):
        given = [
            PlannedContender(
                framework="f", variant="v", device=device, threads=threads, interpreter="",
                required=False,
            )
            for device, threads in contenders
        ]  # fmt: skip
        found = side_by_side(given, cores)
        return [[f"{c.device} {c.threads}" for c in group] for group in found]

    one, two, four, gpu = ("cpu", 1), ("cpu", 2), ("cpu", 4), ("gpu", 1)
    assert grouped(2, two, one, two, one) == [["cpu 1", "cpu 1"], ["cpu 2", "cpu 2"]]
    assert grouped(2, gpu, one, gpu, two) == [["cpu 1", "cpu 2"], ["gpu 1"], ["gpu 1"]]
    assert grouped(4, *[four] * 3) == [["cpu 4", "cpu 4"], ["cpu 4"]]
    assert grouped(1, one, one) == [["cpu 1"], ["cpu 1"]]


def test_an_undeclared_difference_is_refused_and_located(certified):
    row = certified["wrong"]
    assert row.status == "refused"
    assert "differs by" in row.reason and "after step 1 (allowed 1e-12)" in row.reason
    assert row.long.loss[0] == 0  # the first loss is taken before the optimiser has acted
    assert max(row.gradients.values()) == 0
    assert "trains exactly like one that" in row.cause and "epsilon" in row.cause


@pytest.mark.parametrize(
    ("variant", "place"),
    [
        ("decays", "is the right one plus 0.0001 times the weights (weight decay?)"),
        ("uphill", "of the first gradient, every tensor is -1 times the right one"),
        ("uncounted", "the first gradient is right and the update is not, first at step 2"),
    ],
)
def test_what_the_catalogue_does_not_name_is_refused_with_its_place(variant, place, certified):
    row = certified[variant]
    assert row.status == "refused" and "differs by" in row.reason
    assert row.cause.startswith("in a miniature of it, ") and place in row.cause


def test_what_a_variant_leaves_in_a_process_costs_no_other_anything(study, abacus, monkeypatch):
    monkeypatch.setattr("workflows.certify.stage.available_cores", lambda: [0])
    with package("faulty") as folder:
        monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{abacus}")
        both = {"framework": "faulty", "variants": ["leaves-a-mark", "none"]}
        made = study(contenders=[{"framework": "abacus"}, both], certificate=BRIEFLY)
        found = {row.variant: row for row in made.certificate("faulty").rows}
    assert found["none"].status == "agrees", found["none"].reason
    assert found["none"].at_first.startswith(("failed: ", "refused: "))
    assert found["leaves-a-mark"].at_first == ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("wrong", "failed: a miniature of it trains exactly like one that has epsilon 1e-07"),
        ("understated", "failed: in a miniature of it, the first gradient is right and the update"),
    ],
)
def test_a_reference_that_is_wrong_itself_certifies_nobody(study, wrong, words):
    """Whether the catalogue names its mistake or not."""
    made = study(contenders=[{"framework": "abacus", "variants": [wrong, "default"]}])
    found = {row.variant: row for row in made.certificate().rows}
    assert {row.status for row in found.values()} == {"failed"}
    assert f"the reference abacus/{wrong}/cpu/1 {words}" in found["default"].reason


def test_missing_and_failing_contenders_are_rows(study):
    found = rows(study, "raises", devices=["cpu", "gpu"])
    assert found["raises"].status == "missing"  # the last of its rows is the GPU's
    made = study(contenders=[{"framework": "abacus", "variants": ["default", "raises", "killed"]}])
    status = {row.variant: row for row in made.certificate().rows}
    assert status["raises"].status == "failed" and "no beads left" in status["raises"].reason
    assert status["killed"].status == "failed" and "SIGKILL" in status["killed"].reason
    (found_failure,) = failures(made.folders, made.plan.study)
    assert len(found_failure[1]) == 2


def test_without_a_reference_nothing_is_certified(study):
    made = study(contenders=[{"framework": "abacus", "variants": ["raises"]}])
    (row,) = made.certificate().rows
    assert row.status == "failed" and "the reference abacus/raises/cpu/1 failed" in row.reason
    assert (made.folders.reference("mlp") / FAILED).exists()


def test_a_wide_workload_is_certified_narrow_and_at_full_size(study):
    mlp = {"features": 2000, "hidden": [600], "samples": 400, "batch": 4}
    made = study(workloads={"mlp": mlp})
    record = made.certificate()
    assert record.narrowed and record.parameters > 1_000_000 > record.parameters_long
    (row,) = record.rows
    assert row.status == "agrees"
    assert len(row.long.loss) == 50 and len(row.full.loss) == 3
    assert list(row.full.weights) == [3]
    assert set(row.full.weights[3]) == {
        "dense1.kernel",
        "dense1.bias",
        "dense2.kernel",
        "dense2.bias",
    }


def test_float32_is_tried_before_any_float64_in_its_process(study, monkeypatch):
    opened, process = [], Runner.process

    def noted(self, contender, precision="float64"):
        opened.append(precision)
        return process(self, contender, precision)

    made = study(contenders=several("default", "kept"), certificate={"steps": 10, "optimisers": []})
    with Progress(1, "test") as progress:
        make_reference(made.plan, "mlp", made.folders, progress)
    monkeypatch.setattr(Runner, "process", noted)
    assert {row.status for row in made.certificate().rows} == {"agrees"}
    assert opened[:3] == ["float32", "float32", "float64"] and "float32" not in opened[3:]


def test_a_reference_that_is_killed_has_another_attempt(study, monkeypatch):
    train, killed = Runner.train, []

    def trained(self, *given):
        if len(killed) < most:
            killed.append(given)
            raise WorkerDied("killed (SIGKILL)", ended=True)
        return train(self, *given)

    monkeypatch.setattr(Runner, "train", trained)
    made, most = study(certificate={"steps": 10, "optimisers": []}), 1
    with Progress(1, "test") as progress:
        make_reference(made.plan, "mlp", made.folders, progress)
        assert killed and not (made.folders.reference("mlp") / FAILED).exists()
        most = 3
        make_reference(made.plan, "mlp", made.folders, progress)
    assert "killed" in (made.folders.reference("mlp") / FAILED).read_text()


@pytest.mark.parametrize(("off", "status"), [({0}, "agrees"), ({0, 1, 2}, "refused")])
def test_one_mini_batch_says_little_of_float32(study, monkeypatch, off, status):
    """A single undecided ReLU moves a whole gradient; what is off in all mini-batches is not."""
    gradients, looked_at = Runner.gradients, []

    def disturbed(self, worker, contender, out, settings=False, batch=0):
        answer = gradients(self, worker, contender, out, settings, batch)
        timed = settings or (batch and len(looked_at) < 2)  # then come the reference's own
        looked_at.extend([batch] if batch else [])
        if timed and batch in off:
            with np.load(out) as stored:
                found = dict(stored)
            found["dense1.kernel"] = found["dense1.kernel"] * 1.001
            np.savez(out, **found)
        return answer

    monkeypatch.setattr(Runner, "gradients", disturbed)
    (row,) = study().certificate().rows
    assert looked_at == [1, 2, 1, 2]
    assert row.status == status, row.reason
    if status == "refused":
        assert "first gradient in float32: dense1.kernel differs by 1.0e-03" in row.reason
    else:
        assert row.rounding["dense1.kernel"] < 1e-6


def test_certificates_in_few_lines(certified, abacus):
    rows = [row for name, row in certified.items() if name in ("default", "kept")]
    assert [*summary(rows)] == [f"same as the reference{distance(rows)}"]
    (agreed, refused) = summary([certified["default"], certified["wrong"]])
    assert agreed.startswith("default: same as the reference to ")
    assert refused.startswith("wrong: refused: ") and certified["wrong"].reason in refused
    missing = certified["default"].model_copy(update={"status": "missing", "reason": "no GPU"})
    assert [*summary([missing])] == ["left out: no GPU"]
    assert [*summary([missing], known={"no GPU"})] == []

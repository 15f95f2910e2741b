from types import SimpleNamespace

import numpy as np
import pytest

from frameworks.workloads import from_dict
from frameworks.workloads.datasets.mnist import MnistSettings
from tests.workflows.certify.test_certify import BRIEFLY
from tests.workflows.conftest import rows, several
from workflows.certify.as_timed import UNCERTAIN, wrong_moves, wrong_rounding
from workflows.certify.runs import RESTARTED, Run, Runner
from workflows.certify.second_look import attainable_first, attainable_run, lost
from workflows.certify.summary import distance
from workflows.records.schema import CertificateRow
from workflows.records.thresholds import FINER, WORST
from workflows.stages.prepare import prepare


@pytest.mark.parametrize(("astray", "status"), [(1, "agrees"), (3, "refused")])
def test_weights_astray_in_float32_have_the_median_of_three_stretches(
    astray, status, study, monkeypatch
):
    """One stretch may hold a sample that float32 decides differently; what is wrong goes astray in
    all three. Float64 trains the other two last."""
    train, stretches = Runner.train, []

    def spoilt(self, worker, contender, run, out):
        answer = train(self, worker, contender, run, out)
        if contender.variant == "kept" and run.steps == RESTARTED:
            stretches.append(run.first)
            if len(stretches) <= astray:
                with np.load(out) as stored:
                    arrays = {name: value + 0.1 for name, value in stored.items()}
                np.savez(out, **arrays)
        return answer

    monkeypatch.setattr(Runner, "train", spoilt)
    row = rows(study, "kept", certificate={"steps": 30, "optimisers": []})["kept"]
    assert stretches == [0, 10, 20, 10, 20]
    assert row.status == status and ("go astray" in row.reason) == (status == "refused")


@pytest.mark.parametrize(
    ("step", "off", "near", "status"),
    [
        (30, 5e-12, None, "refused"),
        (30, 5e-12, 1e-3, "agrees"),
        (30, 1e-6, 1.0, "refused"),
        (30, 1e-6, 100.0, "agrees"),  # no digit of it is certain, so that it is left out
        (1, 1e-6, 100.0, "refused"),  # nothing has been magnified by then, so that nobody looks
    ],
)
def test_what_plain_numpy_cannot_bring_closer_is_no_mistake(
    step, off, near, status, study, monkeypatch
):
    """A multilayer perceptron does not magnify rounding, so there it excuses nothing."""
    train, looked = Runner.train, []

    def spoilt(self, worker, contender, run, out):
        answer = train(self, worker, contender, run, out)
        if contender.variant == "kept" and run.steps == 30:
            with np.load(out) as stored:
                arrays = dict(stored)
            arrays[f"{step}/dense1.kernel"] *= 1 + off
            np.savez(out, **arrays)
        return answer

    def found(runner, run, idle):
        measured = attainable_run(runner, run, idle)
        looked.append(max(measured.weights[run.steps].values()))
        if near:
            measured.weights[run.steps] = dict.fromkeys(measured.weights[run.steps], near)
        return measured

    monkeypatch.setattr(Runner, "train", spoilt)
    monkeypatch.setattr("workflows.certify.second_look.attainable_run", found)
    row = rows(study, "kept", certificate={"steps": 30, "optimisers": []})["kept"]
    assert row.status == status and bool(row.cause) == (status == "refused")
    assert bool(row.long.attainable) == bool(looked) == (step == 30)
    assert all(1e-8 < error < 1e-5 for error in looked)
    assert ("dense1.kernel" in row.long.weights[30]) is (near != 100.0 or step == 1)


@pytest.mark.parametrize(("numpy", "uncertain"), [(0.4, False), (59.0, True)])
def test_weights_say_nothing_if_those_of_numpy_go_further_than_training(numpy, uncertain):
    row = CertificateRow(
        framework="keras", variant="default", device="cpu", threads=1, status="agrees",
        astray={2: {"dense1.kernel": (14.0, 0.5)}},
        astray_attainable={2: {"dense1.kernel": (numpy, 0.5)}},
    )  # fmt: skip
    said = wrong_moves(row, 1e-5)
    assert said.startswith(UNCERTAIN) == uncertain, said
    assert ("go astray" in said) != uncertain
    assert ("5.9e+01 of their move" in said) == uncertain and "dense1.kernel" in said


@pytest.mark.parametrize(("name", "typical"), [("large", 5e-4), ("small", 5e-3), ("small", 0.0)])
def test_a_large_tensor_has_no_room_for_one_sample(name, typical):
    """A small one has ten times the limit, if the median tensor is within it."""
    row = CertificateRow(
        framework="keras", variant="default", device="cpu", threads=1, status="agrees",
        astray={2: dict.fromkeys(("a", "b"), (0.0, 0.0)) | {name: (typical, 0.0)}},
    )  # fmt: skip
    said = wrong_moves(row, 1e-5, {"large"})
    assert bool(said) == (typical > 0) and (not said or f"step 2 {name} is typically" in said)
    row.astray[2][name] = (5e-4, 0.0)
    assert bool(wrong_moves(row, 1e-5, {"large"})) == (name == "large")


def test_a_gradient_that_is_missing_is_no_matter_of_precision():
    row = CertificateRow(
        framework="keras", variant="default", device="cpu", threads=1, status="agrees",
        rounding={"dense1.kernel": 1e-7, "dense1.bias": 2e-7, "dense2.bias": 1.0},
    )  # fmt: skip
    assert wrong_rounding(row, 1e-5).endswith("this one is missing, clipped or another tensor's")
    row.rounding["dense2.bias"] = 1e-2
    assert "a sum that cancels" in wrong_rounding(row, 1e-5)


def test_a_run_is_compared_until_rounding_hides_everything(study, monkeypatch):
    """And not at all if that comes at once: then no number of any framework says anything."""
    train, lost_after = Runner.train, [17]

    def spoilt(self, worker, contender, run, out):
        answer = train(self, worker, contender, run, out)
        if contender.variant == "kept" and run.steps == 30:
            answer["losses"][20:] = [loss + 0.5 for loss in answer["losses"][20:]]
        return answer

    def chaotic(runner, run, idle):
        measured = attainable_run(runner, run, idle)
        measured.loss = [e if n < lost_after[0] else 1e3 for n, e in enumerate(measured.loss)]
        return measured

    monkeypatch.setattr(Runner, "train", spoilt)
    monkeypatch.setattr("workflows.certify.second_look.attainable_run", chaotic)
    (own,) = (study(contenders=several("default", "kept"), certificate=BRIEFLY),)
    row = {row.variant: row for row in own.certificate().rows}["kept"]
    assert row.status == "agrees" and len(row.long.loss) == 17
    assert list(row.long.weights) == [0, 1, 2, 5, 10] and len(row.losses) == 30
    assert distance([row]).endswith(" in 17 of 30 steps")
    for lost_after[0], status in ((21, "refused"), (2, "refused")):
        row = rows(study, "kept", certificate=BRIEFLY)["kept"]
        assert row.status == status
    assert "cannot be certified: NumPy's own loss of step 3" in row.reason


def attainable_from(described, folder, steps, idle):
    """What NumPy attains after the last of these steps, and in which room a contender must be."""
    workload = from_dict({"name": "shifted", **described})
    prepare(workload, folder / "data", 1, MnistSettings())
    runner = SimpleNamespace(trained=lambda run: workload, place=lambda narrow: folder / "data")
    run = Run(narrow=False, steps=steps, weights_at=(steps,))
    near = attainable_run(runner, run, idle).weights[steps]
    return near, {name: WORST * FINER * error for name, error in near.items()}


def test_a_channel_that_a_relu_ends_has_the_room_of_sums_that_are_not_centred(tmp_path):
    """Both samples of the first mini-batch are 0 in one channel. NumPy subtracts their mean before
    it multiplies, so that nothing is left. TensorFlow does not: its gradient of gamma was 4.9e-11
    off."""
    coarse, fine = {"batch_norm": {"epsilon": 0.001}}, {"batch_norm": {"epsilon": 1e-5}}
    workload = from_dict(
        {
            "name": "random-55",
            "dataset": {"kind": "normal", "samples": 80, "shape": [7], "classes": 4},
            "batch": 2,
            "layers": [{"dense": 4}, "relu", coarse, fine, fine],
            "loss": "sparse_cross_entropy",
            "optimiser": {"momentum": {"learning_rate": 0.006, "momentum": 0.53}},
        }
    )
    prepare(workload, tmp_path / "data", 1, MnistSettings())
    runner = SimpleNamespace(workload=workload, place=lambda narrow: tmp_path / "data")
    room = {name: WORST * FINER * error for name, error in attainable_first(runner).items()}
    assert room.pop("batch_norm2.gamma") > 4.9e-11
    assert max(room.values()) < 1e-10


def test_what_rmsprop_makes_of_rounding_is_more_in_float64_than_float32_shows(tmp_path):
    """The gradient of a bias before batch normalisation is nothing but rounding. RMSprop divides it
    by its size, and the bias moves the running mean. Two ways of PyTorch were 5.9e-11 apart."""
    described = {
        "dataset": {"kind": "normal", "samples": 200, "shape": [3, 4, 3]},
        "batch": 5,
        "layers": ["flatten", {"dense": 5}, {"batch_norm": {"epsilon": 0.001}}, {"dense": 4}],
        "loss": "mean_squared_error",
        "optimiser": {"rmsprop": {"learning_rate": 0.0004, "decay": 0.5, "epsilon": 1e-8}},
    }
    near, room = attainable_from(described, tmp_path, 20, {})
    assert room["batch_norm1.mean"] > 5.9e-11
    del near["dense1.bias"], near["batch_norm1.mean"]
    assert max(near.values()) < 1e-6


@pytest.mark.parametrize(
    ("idle", "excused"),
    [({}, False), ({"batch_norm2.beta": 5.6e-9}, True), ({"batch_norm2.beta": np.inf}, True)],
)
def test_a_running_mean_has_room_for_the_idle_bias_that_is_in_it(idle, excused, tmp_path):
    """With two samples the gradient of beta cancels exactly in NumPy by chance, and in JAX it did
    not: beta was 5.6e-9 off, and so the running mean of what it is added to 2.8e-11."""
    norm = {"batch_norm": {"epsilon": 0.001}}
    described = {
        "dataset": {"kind": "normal", "samples": 200, "shape": [7, 11, 2]},
        "batch": 2,
        "layers": ["global_average_pool", norm, {"dense": 1}, {"dense": 1}, "relu", norm, norm],
        "loss": "mean_squared_error",
        "optimiser": {"adam": {"learning_rate": 0.001, "beta1": 0.06}},
    }
    near, room = attainable_from(described, tmp_path, 5, idle)
    assert (room["batch_norm3.mean"] > 2.8e-11) is excused
    del near["batch_norm2.beta"]  # which nobody compares
    assert not any(map(lost, near.values()))  # whatever the bias is off by
    assert max(room[name] for name in near if name != "batch_norm3.mean") < 1e-13

"""Diagnoses of trainers that do not come from the catalogue: the frameworks' own, another
package's in a process of its own, and those with a declared mistake."""

import sys
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from frameworks.contract import Deviation
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.oracle.mistakes.network import products
from frameworks.oracle.network import OPERATIONS
from frameworks.workloads import from_dict
from frameworks.workloads.smaller import miniature
from tests.adapters.training import CONTENDERS, REFERENCE, Contender
from tests.oracle.in_process import STAGE, InProcess
from workflows.certify.diagnosis import ALL_WELL, NOTHING, Diagnosis, examine, explain, undeclared
from workflows.certify.judge import declared_state
from workflows.certify.second_look import drifted
from workflows.records.schema import Contender as Recorded
from workflows.worker.process import WorkerDied, WorkerProcess
from workflows.worker.recorded_run import Script, perform


@pytest.fixture
def diagnosed(tmp_path):
    """The diagnosis of trainers made by a function, on the workload of a stage."""

    def diagnose(make, stage, state=NOTHING):
        return examine(InProcess(make), STAGE[stage], "default", tmp_path, state).text

    return diagnose


# `make test` tries them all on two contenders, of which one deviates, and the others on Adam.
STAGES = ("mlp", "rmsprop", "adam", "padded", "residual", "mnist-cnn")
TWO = (REFERENCE, Contender("tensorflow", "default"))
DIAGNOSED = [
    pytest.param(one, stage, id="-".join([*one, stage]),
                 marks=[pytest.mark.all] * (one not in TWO and stage != "adam"))
    for one in CONTENDERS
    for stage in STAGES
]  # fmt: skip


@pytest.mark.parametrize(("contender", "stage"), DIAGNOSED)
def test_frameworks_agree_or_make_the_mistake_that_they_declare(contender, stage, diagnosed):
    def make(workload, weights):
        return contender.trainer(workload, "float64", weights)

    answer = diagnosed(make, stage, declared_state(contender, STAGE[stage]))
    if not contender.deviates(STAGE[stage]):
        assert answer == ALL_WELL
    else:
        name = {"adam": "adam-of-keras", "rmsprop": "rmsprop-epsilon-inside-the-root"}
        assert f"one that {CATALOGUE[name[STAGE[stage].optimiser.kind]].says}: " in answer


def test_declared_state_is_what_is_declared(diagnosed):
    """And nothing else is excused by it."""
    workload = STAGE["residual"]
    state = declared_state(Contender("tensorflow", "default"), workload)
    assert set(state) == {name for name in workload.state_shapes if name.endswith("variance")}

    def biased(workload, weights):
        return CATALOGUE["batch-norm-running-variance-biased"].trainer(workload, weights)

    def faster(workload, weights):
        return CATALOGUE["batch-norm-momentum-of-what-stays"].trainer(workload, weights)

    assert diagnosed(biased, "residual", state) == ALL_WELL
    assert diagnosed(OracleTrainer, "residual", state) == ALL_WELL
    assert CATALOGUE["batch-norm-running-variance-biased"].says in diagnosed(biased, "residual")
    answer = diagnosed(faster, "residual", state)
    assert "batch_norm1.variance, " in answer and "neither right nor as declared" in answer


def test_keras_without_from_logits(diagnosed, monkeypatch):
    tf = pytest.importorskip("tensorflow")
    from frameworks.tensorflow import keras_model

    keras = tf.keras.losses.SparseCategoricalCrossentropy(dtype="float64")
    monkeypatch.setattr(keras_model, "loss", lambda workload, precision: keras)

    def make(workload, weights):
        return Contender("tensorflow", "default").trainer(workload, "float64", weights)

    answer = diagnosed(make, "momentum")
    assert CATALOGUE["logits-as-probabilities"].says in answer


def test_two_trained_biases_in_pytorch(diagnosed):
    def make(workload, weights):
        return Contender("pytorch", "trap-two-biases").trainer(workload, "float64", weights)

    assert CATALOGUE["lstm-second-bias"].says in diagnosed(make, "words")


def test_float32_where_float64_was_asked_for(diagnosed):
    def make(workload, weights):
        return Contender("pytorch", "default").trainer(workload, "float32", weights)

    answer = diagnosed(make, "mnist-cnn")
    assert "the first loss is 1.7" in answer and "weights() gives float32" in answer


@pytest.mark.parametrize(
    ("bits", "title"), [(23, "float32"), (10, "TF32 or float16"), (7, "bfloat16")]
)
def test_the_size_of_errors_names_the_precision(bits, title, diagnosed):
    def forwards(layer, x, *parameters):  # the catalogue's round on the way back too
        y, _ = products("dense", bits)(layer, x, *parameters)
        return y, OPERATIONS["dense"](layer, x, *parameters)[1]

    class Reduced(OracleTrainer):
        operations: ClassVar = {**OPERATIONS, "dense": forwards}

    assert f"are those of {title} arithmetic" in diagnosed(Reduced, "sgd")


class Unable(OracleTrainer):
    def step(self, batch):
        raise NotImplementedError("no layer of kind 'dense'")


class Renaming(OracleTrainer):
    def weights(self):
        return {name.upper(): w for name, w in super().weights().items()}


def test_an_adapter_that_cannot_is_quoted(diagnosed):
    assert "NotImplementedError: no layer of kind 'dense', from" in diagnosed(Unable, "sgd")
    assert "weights() has DENSE1.BIAS" in diagnosed(Renaming, "sgd")


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("default", ALL_WELL),
        ("wrong", "has epsilon 1e-07"),
        ("rounded", "has its beta1 rounded to float32"),
    ],
)
def test_in_a_process_of_its_own(variant, words, abacus, tmp_path):
    contender = Recorded(framework="abacus", variant=variant, device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as worker:
        worker.send_open(precision="float64", tf32=False)
        worker.receive()
        assert words in examine(worker, STAGE["mlp"], variant, tmp_path).text


def test_a_process_that_ends_is_no_diagnosis(abacus, tmp_path):
    contender = Recorded(framework="abacus", variant="killed", device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as worker:
        worker.send_open(precision="float64", tf32=False)
        worker.receive()
        with pytest.raises(WorkerDied, match="SIGKILL"):
            examine(worker, STAGE["mlp"], "killed", tmp_path)


@pytest.mark.parametrize(("beta2", "hidden"), [(0.05, True), (0.999, False)])
def test_a_declared_mistake_may_be_one_that_no_miniature_shows(beta2: float, hidden: bool) -> None:
    """The smaller beta2, the less Keras' epsilon differs from the published one."""
    workload = from_dict(
        {
            "name": "faint",
            "dataset": {"kind": "normal", "samples": 40, "shape": [3]},
            "batch": 4,
            "layers": [{"dense": 3}],
            "loss": "mean_squared_error",
            "optimiser": {"adam": {"learning_rate": 2e-4, "beta1": 0.02, "beta2": beta2}},
        }
    )
    declared = [Deviation("optimiser.adam", "Keras' epsilon", 1e-3, "adam-of-keras")]
    assert undeclared(Diagnosis(ALL_WELL), declared, workload) is not hidden
    assert undeclared(Diagnosis("something else", wrong=True), declared, workload)
    assert not undeclared(Diagnosis("it", ("adam-of-keras",)), declared, workload)


@pytest.mark.parametrize("declares", [True, False])
def test_a_declared_mistake_may_be_within_rounding_of_none(declares: bool) -> None:
    """Two samples are normalised, so a miniature magnifies rounding as far as the mistake."""
    workload = from_dict(
        {
            "name": "magnified",
            "dataset": {"kind": "normal", "samples": 40, "shape": [7]},
            "batch": 2,
            "layers": [
                "flatten",
                "sigmoid",
                {"dense": 3},
                {"batch_norm": {"epsilon": 0.001}},
                "tanh",
            ],
            "loss": "mean_squared_error",
            "optimiser": {
                "adam": {"learning_rate": 0.003, "beta1": 0.01, "beta2": 0.5, "epsilon": 3e-8}
            },
        }
    )
    script = Script.draw(miniature(workload))
    off = {name: np.nextafter(w.astype(float), 9) for name, w in script.weights.items()}
    seen = perform(lambda *given: CATALOGUE["adam-of-keras"].trainer(given[0], off), script)
    seen.moments[0] = perform(OracleTrainer, script).moments[0]
    deviations = [Deviation("optimiser.adam", "Keras' epsilon", 1e-3, "adam-of-keras")] * declares
    assert explain(script, seen, declared=deviations).mistakes == ("adam-of-keras",) * declares


@pytest.mark.parametrize(("idle", "well"), [(["dense1.bias"], True), ([], False)])
def test_a_running_mean_may_be_off_by_what_the_idle_bias_in_it_is(idle, well) -> None:
    """Which is 3e-9 here: more than rounding makes of a mean by itself."""
    workload = from_dict(
        {
            "name": "shifted",
            "dataset": {"kind": "normal", "samples": 40, "shape": [7]},
            "batch": 4,
            "layers": [{"dense": 3}, {"batch_norm": {"epsilon": 0.001}}, {"dense": 2}],
            "loss": "mean_squared_error",
            "optimiser": {"momentum": {"learning_rate": 0.001, "momentum": 0.9}},
        }
    )
    script = Script.draw(miniature(workload))
    right = perform(OracleTrainer, script)
    drifting = replace(script, weights=drifted(script.weights, {"dense1.bias": 3e-9}))
    off = perform(lambda given, _: OracleTrainer(given, drifting.weights), drifting)
    seen = deepcopy(right)
    for own, moved in zip(seen.moments[1:], off.moments[1:], strict=True):
        for name in ("batch_norm1.mean", *idle):
            own.weights[name] = moved.weights[name]
    assert (explain(script, seen).text == ALL_WELL) is well

"""The probes find nothing wrong with either framework, and say what they cannot find out."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise, product, repeat
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from frameworks import registry
from frameworks.contract import Adapter, Setting
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.workloads import initial_weights
from frameworks.workloads.layers import Conv2D, Dense, GlobalAveragePool
from frameworks.workloads.optimisers import SGD, Adam, Momentum, Optimiser, RMSprop
from frameworks.workloads.residual import BatchNorm
from tests.adapters.training import small, started
from tests.oracle.in_process import Made
from tests.probes.asking import CNN, MLP, SEQUENCES, answers, same
from workflows.worker.probes import (
    QUESTIONS,
    convolution,
    dense,
    loss,
    normalisation,
    optimiser,
    probe,
    recurrent,
    threads,
)
from workflows.worker.probes.asking import KEPT, OTHER, WITHIN, apart

VARIANTS = [(f, v) for f in ("pytorch", "tensorflow") for v in ("default", "tuned")]
PUBLISHED: dict[str, Setting] = {
    "effective_rate": 0.001,
    "effective_epsilon": 1e-8,
    "epsilon_place": "outside the root",
    "second_update": 1,
    "weight_decay": "none",
    "restart": "forgets",
    "loss_reduction": "mean",
    "loss_of": "logits",
    "labels": "from 0",
    "loss_taken": "before the update",
    "put": "copies",
    "initial_weights": "as given",
    "gradients": "fresh",
    "same_padding": "bottom and right",
    "convolution_products": "float32",
    "dense_products": "float32",
    "weights_kept": "float32",
    "batch_norm_statistics": "n/a",
    "batch_norm_epsilon": "n/a",
    "batch_norm_momentum": "n/a",
    "batch_norm_variance": "n/a",
    "lstm_gates": "n/a",
    "lstm_activation": "n/a",
    "lstm_forget_bias": "n/a",
    "lstm_state": "n/a",
    "lstm_biases": "n/a",
    "loss_over_time": "n/a",
}


@pytest.mark.parametrize(("framework", "variant"), VARIANTS)
def test_frameworks(framework: str, variant: str) -> None:
    found = probe(started(framework, "cpu", "float32"), variant, CNN)
    assert tuple(found) == QUESTIONS
    found.pop("computing_threads")  # in this process others may be at work, and their children
    wanted = dict(PUBLISHED)
    if (framework, variant) == ("tensorflow", "default"):
        wanted["effective_epsilon"] = 3.162e-7
        wanted["epsilon_place"] = "outside the root, before bias correction"
    same(found, wanted)


@pytest.mark.parametrize(
    "framework", ["pytorch", pytest.param("tensorflow", marks=pytest.mark.all)]
)
def test_one_thread_works_in_a_process_of_its_own(framework: str) -> None:
    program = f"""
from frameworks import contract, registry
from frameworks.workloads import load
from workflows.worker.probes import dense
given = contract.Conditions(device="cpu", precision="float32", threads=1)
adapter = registry.open_adapter(registry.framework({framework!r}), given)
for variant in ("default", "tuned"):
    print(dense.computing_threads(dense.observe(adapter, variant, load("mlp", None))))
"""
    description = registry.framework(framework)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **description.variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    known = Path("/proc/self/schedstat").exists()
    assert done.stdout.split()[-2:] == ["1" if known else "n/a"] * 2


@pytest.mark.parametrize(("framework", "variant"), VARIANTS)
@pytest.mark.parametrize(
    ("published", "rate", "epsilon", "place", "second"),
    [
        (SGD(0.01), 0.01, "n/a", "n/a", 1),
        (Momentum(0.001), 0.001, "n/a", "n/a", 1.902),  # the gradient has fallen by 0.2 %
        (RMSprop(), 0.003162, 3.162e-8, "outside the root", 0.7255),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_optimisers(
    framework: str, variant: str, published: Optimiser, rate: float, epsilon: Any, place: str,
    second: float,
) -> None:  # fmt: skip
    if (framework, variant, published.kind) == ("tensorflow", "default", "rmsprop"):
        epsilon, place = 3.162e-4, "inside the root"
    adapter = started(framework, "cpu", "float32")
    names = ["effective_rate", "effective_epsilon", "epsilon_place", "second_update", "restart"]
    found = answers(adapter, replace(MLP, optimiser=published), *names, variant=variant)
    wanted = dict(zip(names, (rate, epsilon, place, second, "forgets"), strict=True))
    same(found, wanted)


@pytest.mark.parametrize("variant", ["default", "tuned"])
@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_mean_squared_error(framework: str, variant: str) -> None:
    adapter = started(framework, "cpu", "float32")
    found = answers(adapter, MLP, *loss.QUESTIONS, variant=variant)
    assert found == {
        **{name: PUBLISHED[name] for name in loss.QUESTIONS},
        "loss_of": "n/a",
        "labels": "n/a",
    }


NORMALISED = small(Conv2D(3), BatchNorm(1e-4, 0.3), GlobalAveragePool(), Dense(4))


@pytest.mark.parametrize(("framework", "variant"), [*VARIANTS, ("jax", "default")])
def test_batch_normalisation(framework: str, variant: str) -> None:
    adapter = started(framework, "cpu", "float32")
    found = answers(adapter, NORMALISED, *normalisation.QUESTIONS, variant=variant)
    biased = (framework, variant) == ("tensorflow", "default")
    same(
        found,
        {
            "batch_norm_statistics": "of the mini-batch",
            "batch_norm_epsilon": 1e-4,
            "batch_norm_momentum": 0.3,
            "batch_norm_variance": "biased" if biased else "unbiased",
        },
    )


BY_STORED = {
    "batch_norm_statistics": "running",
    "batch_norm_epsilon": "n/a",
    "batch_norm_momentum": 0.0,
    "batch_norm_variance": "not kept",
}


@pytest.mark.parametrize(("framework", "variant"), [*VARIANTS, ("jax", "default")])
def test_stored_statistics(framework: str, variant: str) -> None:
    adapter = started(framework, "cpu", "float32")
    stored = small(Conv2D(3), BatchNorm(batch_statistics=False), GlobalAveragePool(), Dense(4))
    same(answers(adapter, stored, *normalisation.QUESTIONS, variant=variant), BY_STORED)
    mistaken = Made(lambda *given: CATALOGUE["batch-norm-of-the-mini-batch"].trainer(*given))
    found = answers(mistaken, stored, "batch_norm_statistics", "batch_norm_momentum")
    same(found, {"batch_norm_statistics": "of the mini-batch", "batch_norm_momentum": 0.1})


RIGHT_LSTM = {
    "lstm_gates": "i, f, g, o",
    "lstm_activation": "sigmoid",
    "lstm_forget_bias": 0,
    "lstm_state": "zero",
    "lstm_biases": 1,
    "loss_over_time": "mean",
}


@pytest.mark.parametrize(
    ("framework", "variant"), [*VARIANTS, ("jax", "default"), ("jax", "tuned")]
)
def test_lstm(framework: str, variant: str) -> None:
    adapter = started(framework, "cpu", "float32")
    same(answers(adapter, SEQUENCES, *recurrent.QUESTIONS, variant=variant), RIGHT_LSTM)


@pytest.mark.parametrize(
    ("mistake", "wanted"),
    [
        ("lstm-gates-i-f-o-g", {"lstm_gates": "i, f, o, g"}),
        ("lstm-forget-bias", {"lstm_forget_bias": 1}),
        ("lstm-two-biases", {"lstm_biases": 2}),
        ("lstm-second-bias", {"lstm_biases": 2}),
        ("lstm-over-samples", {"lstm_gates": "other", "lstm_biases": "other"}),
    ],
)
def test_mistakes_in_an_lstm(mistake: str, wanted: dict[str, Setting]) -> None:
    adapter = Made(lambda *given: CATALOGUE[mistake].trainer(*given))
    same(answers(adapter, SEQUENCES, *wanted), wanted)


def test_candidates_of_an_lstm_are_further_apart_than_what_a_reduced_precision_changes() -> None:
    losses = np.array([*recurrent.candidates().values()])
    distances = apart(losses[:, None], losses[None]).max(2)
    assert len(losses) == 144
    assert distances[~np.eye(len(losses), dtype=bool)].min() > 2.5 * recurrent.WITHIN
    losses = np.array([*recurrent.losses_over_time().values()])
    assert np.diff(np.sort(losses)).min() > 0.1


@pytest.mark.parametrize(
    ("mistake", "wanted"),
    [
        ("batch-norm-inference", {"batch_norm_statistics": "running", "batch_norm_epsilon": "n/a"}),
        ("batch-norm-epsilon-0.001", {"batch_norm_epsilon": 1e-3}),
        ("batch-norm-momentum-of-what-stays", {"batch_norm_momentum": 0.7}),
        ("batch-norm-running-variance-biased", {"batch_norm_variance": "biased"}),
        (
            "batch-norm-by-half",
            {
                "batch_norm_statistics": "of half of the mini-batch",
                "batch_norm_epsilon": 1e-4,
                "batch_norm_variance": "unbiased, of half of the samples",
            },
        ),
    ],
)
def test_mistakes_in_batch_normalisation(mistake: str, wanted: dict[str, Setting]) -> None:
    adapter = Made(lambda *given: CATALOGUE[mistake].trainer(*given))
    same(answers(adapter, NORMALISED, *wanted), wanted)


def test_running_averages_that_stay_as_they_were() -> None:
    class Still(OracleTrainer):
        running: ClassVar = {"batch_norm": lambda layer, x, *kept: kept}

    wanted = {"batch_norm_variance": "not kept"}
    same(answers(Made(Still), NORMALISED, *wanted), wanted)


@pytest.mark.parametrize("published", [Adam(epsilon=0.3), RMSprop(epsilon=0.02)])
def test_a_large_epsilon_is_read_off_too(published: Optimiser) -> None:
    pytest.importorskip("torch")
    adapter = started("pytorch", "cpu", "float32")
    found = answers(
        adapter, replace(MLP, optimiser=published), "effective_epsilon", "epsilon_place"
    )
    share = 1 if published.kind == "adam" else (1 - published.decay) ** 0.5
    assert found["effective_epsilon"] == pytest.approx(published.epsilon / share, rel=1e-3)
    assert found["epsilon_place"] == "outside the root"


@pytest.mark.parametrize(
    ("moved", "kept"),
    [(0.0, "float32"), (2.0**-23, "finer than float32"), (1e-3, OTHER), (-(2.0**-23), OTHER)],
)
def test_weights_that_move_for_another_reason_are_not_finer(moved: float, kept: str) -> None:
    assert dense.weights_kept(dense.Seen(0.0, 1 - np.full(4, moved, np.float32), None)) == kept


@pytest.mark.parametrize("labelled", [False, True])
def test_readings_of_a_loss_are_further_apart_than_reduced_precision(labelled: bool) -> None:
    """Whichever of them is trained, and whether or not `put` keeps the array."""
    given = initial_weights(
        loss.network(Dense(3), shape=(2,), batch=2, optimiser=SGD(), loss=CNN.loss, classes=3), 5
    )
    for trained, kept in product(loss.readings(labelled), (False, True)):
        weights = [given]
        for scale in (4 if kept else 1, 1):
            own = partial(loss.loss, trained, labelled, inputs=scale * loss.INPUTS)
            moves = np.split(loss.RATE * loss.gradient(own, weights[-1]), [6])
            last = weights[-1].items()
            weights.append({
                name: tensor - move.reshape(tensor.shape)
                for (name, tensor), move in zip(last, moves, strict=True)
            })  # fmt: skip
        expected = loss.expected_losses(labelled, *weights)
        for late in (False, True):
            own_losses = expected[trained, kept, late]
            rivals = [expected[one] for one in expected if one != (trained, kept, late)]
            assert min(apart(own_losses, one).max() for one in rivals) > 2 * loss.WITHIN


def test_paddings_and_products_differ_by_more_than_rounding() -> None:
    for values in ([kept**2 for kept in KEPT.values()], convolution.candidates().values()):
        assert min(b / a - 1 for a, b in pairwise(sorted(values))) > 4 * WITHIN


class Refusing(Adapter):
    def __init__(self) -> None:
        pass

    def trainer(self, *arguments: Any) -> Any:
        raise NotImplementedError("no layer of any kind, for reasons that go on and on " * 3)


def test_what_cannot_be_probed_is_said() -> None:
    found = probe(Refusing(), "default", NORMALISED)
    assert tuple(found) == QUESTIONS
    of_sequences = probe(Refusing(), "default", SEQUENCES)
    found |= {name: of_sequences[name] for name in recurrent.QUESTIONS}
    assert set(found.values()) == {
        "not supported: no layer of any kind, for reasons that go on and on"
    }


def test_numbers_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No NaN reaches a record."""
    monkeypatch.setitem(optimiser.QUESTIONS, "effective_rate", lambda seen: float("nan"))
    monkeypatch.setitem(optimiser.QUESTIONS, "restart", lambda seen: 1 / 0)
    found = probe(started("pytorch", "cpu", "float32"), "default", MLP)
    assert found["effective_rate"] == "not finite"
    assert found["restart"] == "not supported: division by zero"


@pytest.mark.parametrize(
    ("spent", "count"),
    [({"a": 40, "b": 5}, 1), ({"a": 40, "b": 39, "c": 9}, 2), ({"a": 0}, None), ({}, None)],
)
def test_threads_that_worked(
    monkeypatch: pytest.MonkeyPatch, spent: dict[str, int], count: int | None
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    before = dict.fromkeys(spent, 1000)
    after = {name: 1000 + time for name, time in spent.items()}
    assert threads.working(before, after) == count


@pytest.mark.parametrize(("cores", "count"), [(2, 1), (16, 16)])
def test_a_thread_that_also_works_alone_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, cores: int, count: int
) -> None:
    """Each of 16 threads has its part of a product, and one does all else."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {*range(cores)})
    after = {str(number): 10 if number else 60 for number in range(16)}
    assert threads.working({}, after) == count


@pytest.mark.parametrize(
    ("counted", "number"),
    [([1, 1, 2, 1, 2], 2), ([1, 1, 2, 1, None], 1), ([2, None], None), ([], None)],
)
def test_other_load_hides_no_thread(counted: list[int | None], number: int | None) -> None:
    assert dense.seen_twice(counted) == number


@pytest.mark.parametrize(("counts", "number"), [([1] * 7 + [2], 2), ([1], 1), ([None], None)])
def test_a_command_that_has_a_core_for_a_moment_hides_no_thread(
    monkeypatch: pytest.MonkeyPatch, counts: list[int | None], number: int | None
) -> None:
    counted = chain(counts, repeat(counts[-1]))
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr(dense, "working", lambda trainer, batch: next(counted))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    adapter = started("pytorch", "cpu", "float32")
    assert dense.observe(adapter, "default", MLP).working == number

"""Mistakes that the catalogue does not name are located: by layer, tensor and step."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes.network import products
from frameworks.oracle.mistakes.training import scaled
from frameworks.oracle.network import OPERATIONS
from frameworks.oracle.optimisers import UPDATES, averages
from frameworks.oracle.trainer import LOSSES, sparse_cross_entropy
from frameworks.workloads.layers import Conv2D, Dense, Pool, ReLU
from frameworks.workloads.optimisers import Adam
from frameworks.workloads.residual import BatchNorm
from tests.adapters.training import small
from tests.oracle.in_process import STAGE, InProcess
from workflows.certify.diagnosis import examine


def oracle(**parts):
    """A trainer with other parts."""
    return type("Planted", (OracleTrainer,), parts)


def operations(**changed):
    return oracle(operations={**OPERATIONS, **changed})


def layers(kind, **values):
    """The right trainer of a workload with other values in its layers of a kind."""

    def change(layer):
        found = layer.with_chains(lambda chain: tuple(map(change, chain)))
        return replace(found, **values) if isinstance(found, kind) else found

    def make(workload, weights):
        changed = tuple(map(change, workload.layers))
        return OracleTrainer(replace(workload, layers=changed), weights)

    return make


def numbers(**values):
    """The right trainer with other numbers of its optimiser, if it is Adam."""

    def make(workload, weights):
        if isinstance(workload.optimiser, Adam):
            workload = replace(workload, optimiser=replace(workload.optimiser, **values))
        return OracleTrainer(workload, weights)

    return make


def gradients(change):
    """A trainer that updates by `change(name, gradient, parameter)`."""

    def apply(self, found):
        changed = {n: change(n, g, self.parameters[n]) for n, g in found.items()}
        OracleTrainer.apply(self, changed)

    return oracle(apply=apply)


def uncounted(o, s, g):
    """Adam at its first step for ever."""
    averages(o, s, g)
    return o.learning_rate * (s.m / (1 - o.beta1)) / (np.sqrt(s.v / (1 - o.beta2)) + o.epsilon)


def in_ogif(layer, x, *parameters):
    columns = np.arange(4 * layer.units).reshape(4, -1)[[3, 2, 0, 1]].ravel()
    y, back = OPERATIONS["lstm"](layer, x, *(w[..., columns] for w in parameters))

    def restored(s):
        slope, *along = back(s)
        return slope, *(w[..., np.argsort(columns)] for w in along)

    return y, restored


SUMMED = scaled(sparse_cross_entropy, lambda outputs: outputs.shape[1])
PLANTED = {
    "ascent": (
        gradients(lambda n, g, w: -g), "sgd",
        "the first loss is right, and of the first gradient, every tensor is -1 times the right",
    ),
    "weak decay": (
        gradients(lambda n, g, w: g + 1e-4 * w), "mlp",
        "every tensor is the right one plus 0.0001 times the weights (weight decay?)",
    ),
    "betas swapped": (
        numbers(beta1=0.999, beta2=0.9), "mlp",
        "the update is not, first at step 2, where of the change dense1.kernel is off by",
    ),
    "steps not counted": (
        oracle(updates={**UPDATES, "adam": uncounted}), "mlp",
        "the update is not, first at step 2, where of the change every tensor is 1.34",
    ),
    "no padding": (
        layers(Conv2D, padding=0), "padded",
        "is right (1.02443 times the right one), and of the first gradient, conv2d1.kernel is off",
    ),
    "pooling by its size": (
        layers(Pool, stride=None), "overlapping",
        "is right (0.915981 times the right one), and of the first gradient, conv2d1.kernel is off",
    ),
    "bfloat16": (
        operations(dense=products("dense", 7)), "sgd",
        "errors of about 2e-03 are those of bfloat16 arithmetic",
    ),
    "averages still": (
        oracle(running={"batch_norm": lambda layer, x, *kept: kept}), "residual",
        "first at step 1, where of the change batch_norm1.mean is zero, batch_norm1.variance is",
    ),
    "averages too slow": (
        layers(BatchNorm, momentum=0.01), "residual",
        "first at step 1, where of the change batch_norm1.mean is 0.05 times the right one",
    ),
    "stored averages that move": (
        oracle(running={"batch_norm": lambda layer, x, *kept: tuple(0.9 * one for one in kept)}),
        "stored",
        "first at step 1, where of the change batch_norm1.mean",
    ),
    "gamma frozen": (
        gradients(lambda n, g, w: 0 * g if n.endswith("gamma") else g), "residual",
        "of the first gradient, batch_norm1.gamma is zero, residual1.batch_norm1.gamma is zero",
    ),
    "gates in another order": (
        operations(lstm=in_ogif), "words",
        "of the first gradient, embedding1.table is off by 1.2e+00, lstm1.kernel is off",
    ),
    "summed over time": (
        oracle(losses={**LOSSES, "sparse_cross_entropy": SUMMED}), "words",
        "(4 times the right one), and of the first gradient, every tensor is 4 times the right one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED)
def test_it_is_located(planted, tmp_path):
    make, stage, words = PLANTED[planted]
    found = examine(InProcess(make), STAGE[stage], "default", tmp_path)
    assert found.wrong and not found.mistakes
    assert found.text.startswith("in a miniature of it, ") and words in found.text


class OtherPlaces(OracleTrainer):
    def load(self, weights):
        kernel = weights["dense2.kernel"]
        super().load({**weights, "dense2.kernel": kernel.reshape(-1)[::-1].reshape(kernel.shape)})


class Halved(OracleTrainer):
    def differentiate(self, inputs, targets):
        loss, gradients = super().differentiate(inputs, targets)
        return loss, {**gradients, "dense1.kernel": gradients["dense1.kernel"] / 2}


class Warm(OracleTrainer):
    """Three times the update from the fifth step on."""

    def update(self, name, gradient):
        step = super().update(name, gradient)
        return step if self.states[name].t < 5 else 3 * step


class Burst(OracleTrainer):
    def update(self, name, gradient):
        step = super().update(name, gradient)
        return step if self.states[name].t < 4 or name != "dense1.bias" else np.inf * step


class KernelsDecayed(OracleTrainer):
    decays: ClassVar = {"dense1": 0.02, "dense2": 0.02, "dense3": 0.02}

    def apply(self, gradients):
        decayed = {f"{layer}.kernel": decay for layer, decay in self.decays.items()}
        kernels = {n: gradients[n] + k * self.parameters[n] for n, k in decayed.items()}
        super().apply(gradients | kernels)


class UnlikeDecayed(KernelsDecayed):
    decays: ClassVar = {"dense1": 0.02, "dense2": 0.03}


class GradientsInFloat32(OracleTrainer):
    def differentiate(self, inputs, targets):
        loss, gradients = super().differentiate(inputs, targets)
        return loss, {n: g.astype(np.float32).astype(np.float64) for n, g in gradients.items()}


class EpsilonInside(OracleTrainer):
    """Adam's, in the root."""

    def update(self, name, gradient):
        right, adam, state = (
            super().update(name, gradient),
            self.workload.optimiser,
            self.states[name],
        )
        if adam.kind != "adam":
            return right
        v = state.v / (1 - adam.beta2**state.t)
        return right * (np.sqrt(v) + adam.epsilon) / np.sqrt(v + adam.epsilon**2)


class LastLayerFrozen(OracleTrainer):
    def apply(self, gradients):
        super().apply({n: g for n, g in gradients.items() if not n.startswith("dense3")})


class ReadOnce(OracleTrainer):
    """weights() always gives the initial ones."""

    def load(self, weights):
        super().load(weights)
        self.given = super().weights()

    def weights(self):
        return self.given


class Averaged(ReadOnce):
    """weights() gives running means."""

    def apply(self, gradients):
        super().apply(gradients)
        now = OracleTrainer.weights(self)
        self.given = {name: 0.9 * self.given[name] + 0.1 * now[name] for name in now}


class Late(ReadOnce):
    """weights() gives those of the step before."""

    def apply(self, gradients):
        self.given = OracleTrainer.weights(self)
        super().apply(gradients)


class KeepsAverages(OracleTrainer):
    """restart() leaves running averages as they are."""

    def load(self, weights):
        kept = getattr(self, "statistics", {})
        super().load(weights)
        self.statistics = kept or self.statistics


def test_running_averages_that_a_restart_leaves_are_no_matter_of_weights(tmp_path):
    """No loss shows them."""
    normalised = small(Dense(7), BatchNorm(), ReLU(), Dense(3), shape=(12,), classes=None)
    answer = examine(InProcess(KeepsAverages), normalised, "default", tmp_path).text
    assert "departs at step 1 after restart(): look at what restart() leaves" in answer


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        (OtherPlaces, "dense2.kernel is of the same values in other places"),
        (Halved, "the first loss is right, and of the first gradient, dense1.kernel is 0.5 times"),
        (Warm, "at step 5, where of the change every tensor is 3 times the right one"),
        (Burst, "dense1.bias: not a finite number at step 4"),
        (KernelsDecayed, "dense1.kernel is the right one plus 0.02 times the weights (weight"),
        (LastLayerFrozen, "dense3.kernel is zero, dense3.bias is zero; look at the backward pass"),
        (ReadOnce, "every loss agrees, and weights() does not, first at step 1, where of the ch"),
        (Averaged, "every tensor is 0.1 times the right one; look at what weights() gives"),
        (Late, "every tensor is zero; look at what weights() gives"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_no_mistake_reproduces_is_located(trainer, words, tmp_path):
    square = small(Dense(7), ReLU(), Dense(7), ReLU(), Dense(3), shape=(12,), classes=None)
    answer = examine(InProcess(trainer), square, "default", tmp_path).text
    assert answer.startswith("in a miniature of it, ") and words in answer


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        (GradientsInFloat32, "dense2.bias is off by "),
        (
            EpsilonInside,
            "the update is not, first at step 1, where of the change dense1.kernel is off",
        ),
        (UnlikeDecayed, "dense1.kernel is off by "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_number_is_no_evidence_of_a_factor_nor_of_weight_decay(trainer, words, tmp_path):
    """It is a multiple of any other."""
    single = small(Dense(7), ReLU(), Dense(1), shape=(12,), classes=None)
    single = replace(single, optimiser=Adam(0.003))
    answer = examine(InProcess(trainer), single, "default", tmp_path).text
    assert words in answer and "times" not in answer and "decay" not in answer
    assert ("those of float32 arithmetic" in answer) is (trainer is GradientsInFloat32)


def test_one_number_has_the_factor_that_all_others_have(tmp_path):
    class Doubled(OracleTrainer):
        def apply(self, gradients):
            super().apply({name: 2 * gradient for name, gradient in gradients.items()})

    single = small(Dense(7), ReLU(), Dense(1), shape=(12,), classes=None)
    answer = examine(InProcess(Doubled), single, "default", tmp_path).text
    assert "every tensor is 2 times the right one; look at the backward pass, at the l" in answer


def test_without_plain_sgd_there_is_no_gradient_to_speak_of(tmp_path):
    class Adaptive(Warm):
        def __init__(self, workload, weights):
            if workload.optimiser.kind == "sgd":
                raise NotImplementedError("no optimiser of kind 'sgd'")
            super().__init__(workload, weights)

    answer = examine(InProcess(Adaptive), STAGE["mlp"], "default", tmp_path).text
    assert "the first loss is right and the update is not, first at step 5" in answer

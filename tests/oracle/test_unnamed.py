"""Mistakes that the catalogue does not name are located: by layer, tensor and step."""

from dataclasses import replace

import numpy as np
import pytest

from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes.network import products
from frameworks.oracle.mistakes.training import scaled
from frameworks.oracle.network import OPERATIONS
from frameworks.oracle.optimisers import UPDATES, averages
from frameworks.oracle.trainer import LOSSES, sparse_cross_entropy
from frameworks.workloads.layers import Conv2D, Pool
from frameworks.workloads.optimisers import Adam
from frameworks.workloads.residual import BatchNorm
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

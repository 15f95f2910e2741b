"""In float64 every variant of every framework trains as PyTorch's `default` does, or deviates
as declared."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from frameworks.workloads import CATALOGUE, Dataset, Weights, Workload, initial_weights, narrowed
from frameworks.workloads.distance import relative
from frameworks.workloads.layers import Conv2D, Flatten
from frameworks.workloads.optimisers import SGD, Optimiser
from frameworks.workloads.residual import BatchNorm
from tests.adapters.training import (
    AGREE,
    NETWORKS,
    OPTIMISERS,
    REFERENCE,
    Contender,
    apart,
    batches,
)

CATALOGUED = {
    "mlp": narrowed(CATALOGUE["mlp"]()),
    "mnist-cnn": CATALOGUE["mnist-cnn"](filters=(8, 12, 16), units=24, batch=16),
}
LOOKED_AT = (1, 2, 5, 10, 20, 100, 500)  # steps whose weights are compared


def trained(
    contender: Contender, workload: Workload, steps: int
) -> tuple[np.ndarray, dict[int, Weights]]:
    """The loss of every step, and the weights after some."""
    trainer = contender.trainer(workload)
    losses, weights = [], {}
    for step, batch in enumerate(batches(workload, steps), 1):
        trainer.step(trainer.put(*batch))
        trainer.synchronise()
        losses.append(trainer.loss())
        if step in LOOKED_AT:
            weights[step] = trainer.weights()
    return np.array(losses), weights


@cache
def reference(workload: Workload, steps: int) -> tuple[np.ndarray, dict[int, Weights]]:
    return trained(REFERENCE, workload, steps)


def losses_apart(contender: Contender, workload: Workload, steps: int) -> np.ndarray:
    """Relative, step by step; asserts that the weights agree where nothing is declared."""
    losses, weights = trained(contender, workload, steps)
    true, true_weights = reference(workload, steps)
    if not contender.deviates(workload):
        for step, tensors in true_weights.items():
            far = apart(weights[step], tensors, contender.aside(workload))
            assert far < AGREE, f"weights after step {step}"
    relative: np.ndarray = np.abs(losses / true - 1)
    return relative


# Those with state. tests/adapters/test_oracle.py has the gradient of every network, and every
# optimiser for as many steps.
REMEMBERING = ("residual", "residual-first", "regression")


@pytest.mark.parametrize("network", REMEMBERING)
def test_layers_over_many_steps(contender: Contender, network: str) -> None:
    assert losses_apart(contender, NETWORKS[network], steps=20).max() < AGREE


# The committed studies train with Adam. With the other optimisers both take fewer steps; in `make
# test` only the perceptron takes 50.
LONG = [
    pytest.param(
        name,
        o,
        500 if o.kind == "adam" else 100,
        id=f"{name}-{o.kind}",
        marks=[pytest.mark.all] * (o.kind != "adam"),
    )
    for name in CATALOGUED
    for o in OPTIMISERS
]
SHORT = [
    pytest.param("mlp", o, 50, id=f"mlp-{o.kind}-short", marks=pytest.mark.brief)
    for o in OPTIMISERS
    if o.kind != "adam"
]


@pytest.mark.parametrize(("name", "optimiser", "steps"), [*LONG, *SHORT])
def test_catalogue(contender: Contender, name: str, optimiser: Optimiser, steps: int) -> None:
    workload = replace(CATALOGUED[name], optimiser=optimiser)
    bound = contender.bound(workload)
    if bound is None:
        assert losses_apart(contender, workload, steps).max() < AGREE
    else:
        assert 1e-9 < losses_apart(contender, workload, steps=10).max() < bound


def test_more_padding_than_the_kernel_has_rows_in_float32(contender: Contender) -> None:
    """XLA's gradient would be wrong, as https://github.com/openxla/xla/issues/48713 says."""
    workload = Workload(
        "padded", Dataset("normal", 8, (4, 4, 1), None), batch=4,
        layers=(BatchNorm(), Conv2D(3, 3, padding=((3, 1), (3, 1))), Flatten()),
        loss="mean_squared_error", optimiser=SGD(0.5),
    )  # fmt: skip
    start, ends = initial_weights(workload, 1), []
    for precision in ("float32", "float64"):
        trainer = contender.trainer(workload, precision)
        trainer.step(trainer.put(*next(batches(workload, 1))))
        ends.append(trainer.weights())
    for name in workload.parameter_shapes:
        rounded, exact = (end[name] - start[name] for end in ends)
        assert relative(rounded, exact) < 1e-5, name

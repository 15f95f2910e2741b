"""Against NumPy, so that two frameworks cannot agree on the same mistake."""

from dataclasses import replace

import numpy as np
import pytest

from frameworks.contract import Trainer
from frameworks.oracle import MultipliedOut, OracleTrainer
from frameworks.workloads import CATALOGUE, SMALL, Workload, initial_weights, load
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import SGD, Optimiser
from frameworks.workloads.sequences import Embedding
from frameworks.workloads.smaller import miniature
from tests.adapters.training import (
    AGREE,
    NETWORKS,
    OPTIMISERS,
    SEQUENCES,
    Contender,
    apart,
    batches,
    small,
    train,
)

STEEP = SGD(2.0**20)  # one step of it leaves little of the weights but the gradient
EVERY = {**NETWORKS, **SEQUENCES}


@pytest.mark.parametrize("network", EVERY)
def test_the_truth_against_finite_differences(network: str) -> None:
    """Along random directions, one for each tensor."""
    workload, random, h = EVERY[network], np.random.default_rng(2), 1e-6
    weights = {n: w.astype(np.float64) for n, w in initial_weights(workload, 1).items()}
    (batch,) = batches(workload, 1)
    truth = OracleTrainer(workload, weights)
    inputs, targets = truth.put(*batch)
    _, gradients = truth.differentiate(inputs, targets)
    for name, gradient in gradients.items():
        direction = random.standard_normal(gradient.shape)
        ends = []
        for step in (h, -h):
            truth.load({**weights, name: weights[name] + step * direction})
            ends.append(truth.differentiate(inputs, targets)[0])
        slope = (ends[0] - ends[1]) / (2 * h)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-8), name


class MultipliedOutExactly(MultipliedOut):
    precision = np.float64


NORMALISING = [name for name, one in NETWORKS.items() if any("norm" in n for n in one.state_shapes)]


@pytest.mark.parametrize("network", NORMALISING)
def test_either_way_of_normalising_gives_the_same(network: str) -> None:
    workload = NETWORKS[network]
    (batch,), found = batches(workload, 1), []
    for kind in (OracleTrainer, MultipliedOutExactly):
        one = kind(workload, initial_weights(workload, 1))
        found.append(one.differentiate(*one.put(*batch)))
    (loss, right), (same, gradients) = found
    assert same == pytest.approx(loss, rel=AGREE)
    assert apart(gradients, right, workload.idle) < AGREE


@pytest.mark.parametrize("network", NETWORKS)
def test_loss_and_gradient(contender: Contender, network: str) -> None:
    compare(contender, replace(NETWORKS[network], optimiser=STEEP), steps=1)


# With one block a stage. In `make test` `NETWORKS` has the layers of these two.
DEEP = {"resnet-56": [1, 1, 1], "resnet-50": [1, 1, 1, 1]}
LARGE = [
    pytest.param(name, marks=[pytest.mark.all] * (name in DEEP))
    for name in CATALOGUE
    if name not in SMALL and not load(name, None).elementwise
]


@pytest.mark.parametrize("name", LARGE)
def test_networks_of_the_literature(contender: Contender, name: str) -> None:
    entry = {"blocks": DEEP[name]} if name in DEEP else None
    compare(contender, miniature(load(name, entry)), steps=3)


def test_stored_statistics_stay(contender: Contender) -> None:
    """Others beside them move, and what is trained agrees."""
    workload = NETWORKS["stored-statistics"]
    trainer = compare(contender, workload, steps=5)
    before, after = initial_weights(workload, 1), trainer.weights()
    moved = {n for n in workload.state_shapes if not np.array_equal(after[n], before[n])}
    assert moved == {"batch_norm3.mean", "batch_norm3.variance"}


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_optimiser(contender: Contender, optimiser: Optimiser) -> None:
    workload = small(Dense(2), shape=(5,), classes=None, optimiser=optimiser)
    if contender.deviates(workload):
        pytest.skip("declared to deviate")
    compare(contender, workload, steps=20)


@pytest.mark.parametrize("optimiser", OPTIMISERS[1:], ids=lambda o: o.kind)
def test_rows_of_words_that_do_not_occur(contender: Contender, optimiser: Optimiser) -> None:
    """They have no gradient, and an optimiser with a memory moves them all the same."""
    workload = small(
        Embedding(14, 3), Dense(12), shape=(2,), classes=12, optimiser=optimiser, kind="tokens"
    )
    if contender.deviates(workload):
        pytest.skip("declared to deviate")
    compare(contender, workload, steps=5)


def compare(contender: Contender, workload: Workload, steps: int) -> Trainer:
    trainer, truth = (
        contender.trainer(workload),
        OracleTrainer(workload, initial_weights(workload, 1)),
    )
    losses, right = (train(t, workload, steps) for t in (trainer, truth))
    np.testing.assert_allclose(losses, right, rtol=AGREE)
    assert apart(trainer.weights(), truth.weights(), contender.aside(workload)) < AGREE
    return trainer

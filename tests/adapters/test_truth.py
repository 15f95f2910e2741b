"""Against NumPy, so that two frameworks cannot agree on the same mistake."""

import numpy as np
import pytest

from frameworks.workloads import initial_weights
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import Optimiser
from tests.adapters import numpy_truth
from tests.adapters.training import AGREE, NETWORKS, OPTIMISERS, Contender, batches, small


@pytest.mark.parametrize("network", NETWORKS)
def test_loss_and_gradient(contender: Contender, network: str) -> None:
    """The gradient is what plain SGD subtracts; it is held against finite differences of the
    loss along random directions, one for each tensor."""
    workload = NETWORKS[network]
    trainer, weights = contender.trainer(workload), initial_weights(workload, 1)
    (batch,) = batches(workload, 1)
    trainer.step(trainer.put(*batch))

    assert trainer.loss() == pytest.approx(numpy_truth.loss(workload, weights, *batch), rel=AGREE)

    random, h = np.random.default_rng(2), 1e-6
    for name, after in trainer.weights().items():
        gradient = (weights[name] - after) / workload.optimiser.learning_rate
        direction = random.standard_normal(after.shape)
        up, down = (
            numpy_truth.loss(workload, {**weights, name: weights[name] + s * direction}, *batch)
            for s in (h, -h)
        )
        slope = (up - down) / (2 * h)
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-8), name


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_optimiser(contender: Contender, optimiser: Optimiser) -> None:
    """Linear regression, whose gradient is known, for twenty steps."""
    workload = small(Dense(2), shape=(5,), classes=None, optimiser=optimiser)
    if contender.deviates(workload):
        pytest.skip("declared to deviate")
    trainer = contender.trainer(workload)
    weights = {n: w.astype(np.float64) for n, w in initial_weights(workload, 1).items()}
    kernel, bias = weights.values()
    subtract_kernel, subtract_bias = (
        numpy_truth.updates(optimiser, w.shape) for w in (kernel, bias)
    )
    next(subtract_kernel), next(subtract_bias)
    for inputs, targets in batches(workload, 20):
        trainer.step(trainer.put(inputs, targets))
        errors = inputs.astype(np.float64) @ kernel + bias - targets
        assert trainer.loss() == pytest.approx(np.mean(errors**2), rel=AGREE)
        slopes = 2 * errors / errors.size
        kernel -= subtract_kernel.send(inputs.T.astype(np.float64) @ slopes)
        bias -= subtract_bias.send(slopes.sum(axis=0))
    for name, weight in trainer.weights().items():
        np.testing.assert_allclose(weight, weights[name], rtol=1e-11)

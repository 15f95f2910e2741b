"""Parts of a step: the loss and the gradients of the default step, and no update."""

from dataclasses import replace

import numpy as np
import pytest

from frameworks.registry import framework
from frameworks.workloads import initial_weights
from frameworks.workloads.layers import Conv2D, Dense, Flatten, MaxPool, ReLU
from frameworks.workloads.optimisers import SGD
from frameworks.workloads.residual import BatchNorm
from tests.adapters.training import AGREE, SEQUENCES, Contender, batches, small

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
RATE = 2.0**19  # so large that a step is all there is to see in the weights
NETWORKS = {
    "images": small(
        Conv2D(3, bias=False), BatchNorm(), ReLU(), MaxPool(2), Flatten(), Dense(4),
        optimiser=SGD(RATE),
    ),
    "words": replace(SEQUENCES["words"], optimiser=SGD(RATE)),
}  # fmt: skip


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_part_is_the_whole_step_without_its_update(name: str, network: str) -> None:
    workload = NETWORKS[network]
    given = initial_weights(workload, 1)
    whole, forward, gradient = (
        Contender(name, variant).trainer(workload)
        for variant in ("default", "part-forward", "part-gradient")
    )
    for number, batch in enumerate(batches(workload, 3)):
        whole.restart(given)
        for trainer in (whole, forward, gradient):
            trainer.step(trainer.put(*batch))
            trainer.synchronise()
        weights = whole.weights()
        for part in (forward, gradient):
            assert part.loss() == pytest.approx(whole.loss(), rel=AGREE)
            left = part.weights()
            for tensor in workload.parameter_shapes:
                np.testing.assert_array_equal(left[tensor], given[tensor].astype(float))
            for tensor in workload.state_shapes:
                assert not np.array_equal(left[tensor], given[tensor])
                if not number:  # later, it depends on the mini-batches before
                    np.testing.assert_allclose(left[tensor], weights[tensor], rtol=AGREE)
        found = gradient.gradients()
        assert list(found) == list(workload.parameter_shapes)
        for tensor, own in found.items():
            moved = (given[tensor] - weights[tensor]) / RATE
            np.testing.assert_allclose(own, moved, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_part_has_the_settings_of_the_step_but_no_optimiser(name: str) -> None:
    workload = NETWORKS["images"]
    own, other = (
        Contender(name, variant).trainer(workload).settings()
        for variant in ("part-gradient", "default")
    )
    assert own["optimiser"] == "n/a"
    assert {setting for setting in other if own[setting] != other[setting]} <= {
        "optimiser", "weights_memory",
    }  # fmt: skip


def test_every_part_is_restored_or_rebuilt_like_its_whole_step() -> None:
    for name in FRAMEWORKS:
        variants = framework(name).variants
        for variant in variants.values():
            if variant.part:
                assert variant.rebuilds == variants[variant.compared_with].rebuilds

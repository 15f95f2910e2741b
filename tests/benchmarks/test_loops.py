"""The loops train what `tuned` trains, and the harness's benchmark judges by its interval."""

import numpy as np
import pytest

from benchmarks.harness import Contender, shown
from benchmarks.loops.descriptions import JAX, PYTORCH, TENSORFLOW, block_starts, is_perceptron
from frameworks.conditions import Conditions
from frameworks.contract import Framework, Unavailable
from frameworks.registry import framework, open_adapter, versions
from frameworks.workloads import Workload, initial_weights
from frameworks.workloads.catalogue import mlp, mnist_cnn

STEPS = 4
NETWORKS = (mlp(features=1_100, hidden=(30, 20), batch=4, samples=40),
            mnist_cnn(filters=(4, 4, 4), units=8, batch=4, samples=40))  # fmt: skip


def trained(description: Framework, workload: Workload) -> dict[str, np.ndarray]:
    """The weights after a few steps in float64, and after a restart and as many again."""
    draw = np.random.default_rng(1)
    weights = initial_weights(workload, 1)
    adapter = open_adapter(description, Conditions(precision="float64"))
    trainer = adapter.trainer(workload, weights, "tuned")
    inputs, targets = workload.zeros()
    for _ in range(2):
        trainer.restart(weights)
        for _ in range(STEPS):
            numbers = draw.normal(size=inputs.shape).astype(np.float32)
            trainer.step(trainer.put(numbers, targets))
    assert trainer.settings()["precision"] == "float64"
    return trainer.weights()


@pytest.mark.parametrize(
    "loop",
    [PYTORCH, *(pytest.param(one, marks=pytest.mark.all) for one in (TENSORFLOW, JAX))],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize("workload", NETWORKS, ids=lambda one: one.name)
def test_a_loop_trains_what_tuned_trains(loop: Framework, workload: Workload) -> None:
    if not versions(loop):
        pytest.skip(f"{loop.title} is not installed")
    if loop is JAX and not is_perceptron(workload):
        with pytest.raises(Unavailable, match="faster than tuned"):
            trained(loop, workload)
        return
    own = trained(loop, workload)
    right = trained(framework(loop.name.removesuffix("-loop")), workload)
    for name, tensor in right.items():
        assert np.linalg.norm(own[name] - tensor) <= 1e-12 * np.linalg.norm(tensor), name


def test_blocks_cover_all_rows_once() -> None:
    assert block_starts(10, 4, 12) == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert block_starts(2, 100, 12) == [(0, 1), (1, 2)]


def test_only_an_interval_above_what_is_allowed_fails() -> None:
    contender = Contender("mlp", "jax", "default")
    assert shown(contender, [0.02, 0.021, 0.022, 0.019])[1]
    row, above = shown(contender, [0.02, -0.03, 0.05, 0.01])
    assert not above and row[:3] == ["mlp", "JAX", "default"]

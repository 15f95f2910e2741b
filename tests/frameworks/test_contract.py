"""The contract's docstring is the tutorial, and the adapter in it works."""

import re
import textwrap

import numpy as np
import pytest

from frameworks import contract
from frameworks.contract import Conditions, Unavailable
from frameworks.oracle.trainer import OracleTrainer
from frameworks.workloads import from_dict, initial_weights, load

LINE = {
    "name": "line",
    "dataset": {"kind": "normal", "samples": 64, "shape": [6]},
    "batch": 8,
    "layers": [{"dense": 3}],
    "loss": "mean_squared_error",
    "optimiser": {"sgd": {"learning_rate": 0.1}},
}


@pytest.fixture
def linear():
    """What the docstring shows, as a module."""
    (shown,) = re.findall(r"^    FRAMEWORK = .*?(?=^\S)", contract.__doc__, re.S | re.M)
    module = {name: getattr(contract, name) for name in contract.__all__}
    exec(textwrap.dedent(shown), module)
    return module


@pytest.mark.parametrize(("precision", "agree"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_smallest_adapter_trains_as_numpy_does(linear, precision, agree):
    workload, random = from_dict(LINE), np.random.default_rng(1)
    weights = initial_weights(workload, 1)
    adapter = linear[linear["FRAMEWORK"].adapter.partition(":")[2]](Conditions(precision=precision))
    trainer, truth = adapter.trainer(workload, weights, "default"), OracleTrainer(workload, weights)
    inputs, targets = np.zeros((8, 6), np.float32), np.zeros((8, 3), np.float32)
    for _ in range(20):
        inputs[:] = random.normal(size=inputs.shape)
        targets[:] = random.normal(size=targets.shape)
        for one in (trainer, truth):
            batch = one.put(inputs, targets)
            one.step(batch)
            one.synchronise()
        assert trainer.loss() == pytest.approx(float(truth.last), rel=agree)
    for name, found in trainer.weights().items():
        np.testing.assert_allclose(found, truth.parameters[name], rtol=agree, atol=agree)
        assert found.dtype == precision
    trainer.restart(weights)
    assert all(np.array_equal(trainer.weights()[name], weights[name]) for name in weights)
    assert set(contract.SETTINGS) <= set(trainer.settings())
    assert trainer.settings()["precision"] == precision


def test_the_smallest_adapter_declines_the_rest(linear):
    adapter = linear["LinearAdapter"](Conditions())
    with pytest.raises(NotImplementedError, match="adam, but only sgd"):
        adapter.trainer(from_dict({**LINE, "optimiser": "adam"}), {}, "default")
    with pytest.raises(NotImplementedError, match="relu"):
        adapter.trainer(load("mlp", None), {}, "default")
    with pytest.raises(Unavailable):
        linear["LinearAdapter"](Conditions(device="gpu"))

"""Single operations: every adapter gives NumPy's results bit for bit, in memory of its own."""

import numpy as np
import pytest

from frameworks.contract import SETTINGS, Conditions, Unavailable
from frameworks.registry import framework, open_adapter
from frameworks.workloads import initial_weights, load
from tests.adapters.training import Contender
from workflows.certify.elementwise import OPERATIONS, ulps

CONTENDERS = [
    Contender(name, "default", device)
    for device in ("cpu", "gpu")
    for name in ("pytorch", "tensorflow", "jax", "numpy")
    if (name, device) != ("numpy", "gpu")
]


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("kind", OPERATIONS)
@pytest.mark.parametrize("contender", CONTENDERS, ids="-".join)
def test_results_are_those_of_numpy(contender: Contender, kind: str, repeat: int) -> None:
    workload = load(kind, {"elements": 1000, "repeat": repeat})
    trainer = contender.trainer(workload, "float32")
    assert not trainer.weights()[f"{kind}1.result"].any()
    for seed in (1, 2):
        x, y = np.random.default_rng(seed).standard_normal((2, 1, 1000), np.float32)
        right = OPERATIONS[kind](x[0], y[0]).copy()
        batch = trainer.put(x, y)
        trainer.synchronise()
        x.fill(np.nan)
        y.fill(np.nan)
        trainer.step(batch)
        trainer.synchronise()
        (found,) = trainer.weights().values()
        operation = workload.elementwise
        assert operation and found.dtype == np.float32
        assert ulps(found, right) <= (operation.ulps if contender.device == "gpu" else 0)
        assert trainer.loss() == found.mean(dtype=np.float64)
    settings = trainer.settings()
    assert {*SETTINGS} <= {*settings} and settings["precision"] == "float32"


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax", "numpy"])
def test_a_copy_has_memory_of_its_own(name: str) -> None:
    trainer = Contender(name, "default").trainer(load("copy", {"elements": 1000}), "float32")
    batch = trainer.put(*np.ones((2, 1, 1000), np.float32))
    trainer.step(batch)
    trainer.synchronise()
    result = trainer._result  # type: ignore[attr-defined]
    assert not np.shares_memory(*map(np.asarray, (batch[0], result)))


def test_only_pytorch_has_a_result_to_write_to() -> None:
    settings = Contender("pytorch", "default").trainer(load("divide", None), "float32").settings()
    assert settings["to_same_device"] == "changed" and "to_another_device" not in settings


def test_what_does_not_apply_is_said() -> None:
    with pytest.raises(Unavailable, match="xla is about networks"):
        Contender("tensorflow", "xla").trainer(load("divide", None), "float32")
    with pytest.raises(Unavailable, match="in float32"):
        Contender("jax", "default").trainer(load("divide", None))
    with pytest.raises(NotImplementedError, match="no layer of kind 'divide'"):
        Contender("keras", "tensorflow").trainer(load("divide", None), "float32")


def test_numpy_has_one_thread_of_a_processor() -> None:
    with pytest.raises(Unavailable, match="NumPy runs on the processor only"):
        open_adapter(framework("numpy"), Conditions(device="gpu"))
    adapter, workload = open_adapter(framework("numpy"), Conditions(threads=2)), load("copy", None)
    with pytest.raises(Unavailable, match="NumPy's operations use one thread, not 2"):
        adapter.trainer(workload, initial_weights(workload, 1), "default")


def test_numpy_trains_no_network() -> None:
    with pytest.raises(NotImplementedError, match="trains no network; it has single operations"):
        Contender("numpy", "default").trainer(load("mlp", {"features": 3, "hidden": [2]}))

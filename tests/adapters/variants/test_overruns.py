"""Networks in which oneDNN writes past its memory: they ended the framework's process, most of the
times."""

import json
import sys

import numpy as np
import pytest

from frameworks.contract import Conditions
from frameworks.oracle import OracleTrainer
from frameworks.registry import framework, open_adapter
from frameworks.workloads import from_dict, initial_weights
from frameworks.workloads.smaller import batches
from tests.conftest import python
from workflows.worker.training import one_step

DOWN = {"subsample": {"stride": 3, "channels": 3}}
SHAPES = {
    "tensorflow": [  # a convolution, its bias and an addition
        {"residual": {"body": [{"conv2d": {"filters": 3, "kernel": kernel, "stride": 3,
                                           "padding": kernel // 2}}], "shortcut": [DOWN]}}
        for kernel in (1, 3)
    ],
    "pytorch": [{"conv2d": {"filters": 6, "kernel": 1, "stride": 2}}],  # channels last
}  # fmt: skip


def train(name: str, variant: str, layer: str) -> None:
    """Print by how much three losses are off from NumPy's, relative."""
    workload = from_dict(
        {
            "name": "overrun",
            "dataset": {"kind": "normal", "samples": 40, "shape": [4, 9, 1]},
            "batch": 2,
            "layers": [json.loads(layer), "global_average_pool"],
            "loss": "mean_squared_error",
            "optimiser": {"sgd": {"learning_rate": 0.1}},
        }
    )
    conditions = Conditions(device="cpu", threads=1, precision="float32")
    weights = initial_weights(workload, 1)
    adapter = open_adapter(framework(name), conditions)
    own, exact = adapter.trainer(workload, weights, variant), OracleTrainer(workload, weights)
    losses = np.array([[one_step(one, batch) for one in (own, exact)]
                       for batch in batches(workload, 1, 3)])  # fmt: skip
    print(np.max(np.abs(losses[:, 0] / losses[:, 1] - 1)))


@pytest.mark.parametrize("variant", ["default", "tuned"])
@pytest.mark.parametrize(
    ("name", "layer"),
    [
        pytest.param(name, json.dumps(layer), id=f"{name}-{number}")
        for name, layers in SHAPES.items()
        for number, layer in enumerate(layers)
    ],
)
def test_they_are_trained(name: str, layer: str, variant: str) -> None:
    pytest.importorskip({"pytorch": "torch"}.get(name, name))
    done = python("-m", __name__, name, variant, layer)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout.splitlines()[-1]) < 1e-5


if __name__ == "__main__":
    train(*sys.argv[1:])

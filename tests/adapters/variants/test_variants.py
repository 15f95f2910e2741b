"""Opt-in variants that cost too much to be tried on everything, and the thread of Keras' fit."""

import os
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from frameworks.contract import Unavailable
from frameworks.registry import framework, versions
from frameworks.workloads import initial_weights
from frameworks.workloads.layers import Conv2D, Dense, Flatten, Layer
from frameworks.workloads.optimisers import SGD
from frameworks.workloads.residual import Residual
from tests.adapters.training import (
    AGREE,
    KERAS,
    NETWORKS,
    REFERENCE,
    Contender,
    batches,
    small,
    train,
)
from tests.conftest import python

REGRESSION = replace(NETWORKS["regression"], optimiser=SGD(0.01))
FIT = Contender("keras", "fit")


def compilable() -> None:
    compiled = pytest.importorskip("frameworks.pytorch.compiled")
    try:
        compiled.require_compiler()
    except Unavailable as reason:
        pytest.skip(str(reason))


def require_agreement(contender: Contender) -> Any:
    trainer, reference = contender.trainer(REGRESSION), REFERENCE.trainer(REGRESSION)
    np.testing.assert_allclose(train(trainer, REGRESSION), train(reference, REGRESSION), rtol=AGREE)
    losses, other = trainer.loss(), reference.loss()
    assert losses == pytest.approx(other, rel=AGREE)
    trainer.restart(initial_weights(REGRESSION, 1))
    reference.restart(initial_weights(REGRESSION, 1))
    np.testing.assert_allclose(
        train(trainer, REGRESSION, 3), train(reference, REGRESSION, 3), rtol=AGREE
    )
    return trainer


@pytest.mark.all
def test_compile() -> None:
    compilable()
    from torch._dynamo.utils import counters

    before = counters["stats"]["unique_graphs"]
    trainer = require_agreement(Contender("pytorch", "compile"))
    assert counters["stats"]["unique_graphs"] > before
    assert trainer.settings()["compilation"] == "torch.compile"
    assert trainer.settings()["input_gradient"] == "not computed"


@pytest.mark.parametrize(
    ("name", "variant"),
    [("pytorch", "fused"), ("pytorch", "layout"), ("tensorflow", "update"),
     ("tensorflow", "operations"), ("jax", "pooling"), ("jax", "products")],
)  # fmt: skip
def test_a_step_of_tuning_agrees(name: str, variant: str) -> None:
    """`memory` and `pages` run the code of `default`."""
    require_agreement(Contender(name, variant))


@pytest.mark.parametrize(
    ("layers", "channels", "layout"),
    [
        ([Conv2D(16, 1, stride=2)], 4, "NCHW"),
        (
            [Residual((Conv2D(16, 3, stride=2, padding="same"),), (Conv2D(16, 1, stride=2),))],
            15,
            "NCHW",
        ),
        ([Conv2D(16, 1, stride=2)], 16, "NHWC"),
        ([Conv2D(16, 3, stride=2), Conv2D(16, 1)], 4, "NHWC"),
    ],
)
def test_pytorch_keeps_channels_first_where_onednn_would_crash(
    layers: list[Layer], channels: int, layout: str
) -> None:
    network = [*layers, Flatten(), Dense(4)]
    workload = small(*network, shape=(8, 8, channels), optimiser=SGD(0.01))
    own, other = (
        Contender("pytorch", variant).trainer(workload, "float32")
        for variant in ("tuned", "default")
    )
    assert own.settings()["layout"] == layout
    if layout == "NCHW":
        np.testing.assert_allclose(train(own, workload), train(other, workload), rtol=1e-4)


def test_each_step_leads_from_default_to_tuned() -> None:
    for name in ("pytorch", "tensorflow", "jax"):
        variants = framework(name).variants
        seen, variant = [], "tuned"
        while variant != "default":
            seen.append(variant)
            assert variants[variant].change
            variant = variants[variant].compared_with
        assert set(seen) - {"tuned"} == framework(name).intermediate


def test_no_compiler_is_a_reason() -> None:
    cpp_builder = pytest.importorskip("torch._inductor.cpp_builder")
    from torch._inductor import config

    if hasattr(cpp_builder.get_cpp_compiler, "cache_clear"):
        cpp_builder.get_cpp_compiler.cache_clear()
    none = config.patch({"cpp.cxx": ("no-such-compiler",)})
    with none, pytest.raises(Unavailable, match="needs a C\\+\\+ compiler and found none"):
        Contender("pytorch", "compile").trainer(REGRESSION)


def test_xla() -> None:
    trainer = require_agreement(Contender("tensorflow", "xla"))
    assert trainer.settings()["compilation"] == "tf.function, XLA"


@pytest.mark.all
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_keras_on_another_backend(backend: str) -> None:
    """In a process of its own, where nothing is skipped."""
    if not versions(framework("keras")) or not versions(
        framework({"torch": "pytorch"}.get(backend, backend))
    ):
        pytest.skip(f"keras or {backend} is not installed")
    names = "restart or put_keeps or settings"
    run = python(
        "-m", "pytest", "-q", "-rs", "tests/adapters/test_trainer.py",
        "tests/adapters/test_agreement.py", "-k", f"keras-{backend}-cpu and sgd and ({names})"
        f" or keras-{backend}-cpu and every_layer and regression",
        env={**os.environ, KERAS: backend},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "passed" in run.stdout and "skipped" not in run.stdout


def test_a_backend_of_another_process_says_so() -> None:
    FIT.trainer(REGRESSION)
    from frameworks.keras.adapter import KerasAdapter
    from tests.adapters.training import started

    adapter = started("keras", "cpu", "float64")
    assert isinstance(adapter, KerasAdapter)
    with pytest.raises(Unavailable, match="its variant torch needs one that starts with KERAS_B"):
        adapter.trainer(REGRESSION, initial_weights(REGRESSION, 1), "torch")


def test_a_backend_that_is_not_installed_is_a_reason() -> None:
    if not versions(framework("keras")):
        pytest.skip("keras is not installed")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from frameworks.contract import Conditions\n"
        "from frameworks.keras.adapter import KerasAdapter\n"
        "KerasAdapter(Conditions())"
    )
    run = python("-c", code, env={**os.environ, KERAS: "torch"})
    assert "Unavailable: Keras' backend torch is not installed" in run.stderr


def fits() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "model.fit"]


def test_fit_runs_until_a_restart() -> None:
    trainer = require_agreement(FIT)
    running = len(fits())
    trainer.restart(initial_weights(REGRESSION, 1))
    assert len(fits()) == running - 1
    train(trainer, REGRESSION, 1)
    assert len(fits()) == running
    del trainer
    assert len(fits()) == running - 1


def test_the_loss_need_not_be_read() -> None:
    """Keras' own is a mean over the steps since its last reset."""
    trainer, other = FIT.trainer(REGRESSION), FIT.trainer(REGRESSION)
    for batch in batches(REGRESSION, 3):
        trainer.step(trainer.put(*batch))
        other.step(other.put(*batch))
        other.loss()
    assert trainer.loss() == other.loss() == trainer.loss()


def test_what_fit_raises_surfaces_in_step() -> None:
    trainer = FIT.trainer(REGRESSION)
    (inputs, targets), good = batches(REGRESSION, 2)
    before = len(fits())
    with pytest.raises(Exception, match=r"(?i)shape|incompatible|dimension"):
        trainer.step(trainer.put(inputs[:, :5], targets))
    assert len(fits()) == before
    trainer.restart(initial_weights(REGRESSION, 1))
    trainer.step(trainer.put(*good))
    assert np.isfinite(trainer.loss())


@pytest.mark.all
def test_a_process_ends_in_the_middle_of_a_fit() -> None:
    FIT.trainer(REGRESSION)
    code = (
        "from tests.adapters.variants.test_variants import *\n"
        "trainer = FIT.trainer(REGRESSION); train(trainer, REGRESSION, 2); print(len(fits()))"
    )
    run = python("-c", code, timeout=120)
    assert (run.returncode, run.stdout.strip()) == (0, "1"), run.stderr

"""What the contract asks of a trainer."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from frameworks.contract import SETTINGS
from frameworks.workloads import Workload, initial_weights
from frameworks.workloads.layers import Dense, ReLU
from frameworks.workloads.optimisers import Optimiser
from tests.adapters.training import (
    LEFT_OUT,
    NETWORKS,
    OPTIMISERS,
    Contender,
    batches,
    small,
    started,
    train,
)
from workflows.worker.probes.asking import aligned

CNN = NETWORKS["same-stride-2"]


@pytest.mark.parametrize("network", NETWORKS)
def test_weights_come_back_bit_for_bit(contender: Contender, network: str) -> None:
    workload = NETWORKS[network]
    given = initial_weights(workload, 3)
    returned = contender.trainer(workload, "float32", given).weights()
    assert list(returned) == list(given)
    for name, weight in given.items():
        assert returned[name].dtype == np.float32
        assert returned[name].flags.c_contiguous
        np.testing.assert_array_equal(returned[name], weight)


def test_weights_are_copies(contender: Contender) -> None:
    trainer = contender.trainer(CNN)
    before = trainer.weights()
    kept = {name: weight.copy() for name, weight in before.items()}
    train(trainer, CNN, steps=2)
    for name, weight in before.items():
        np.testing.assert_array_equal(weight, kept[name])
        assert not np.array_equal(trainer.weights()[name], weight), f"{name} is not trained"
        weight[...] = np.nan
    assert all(np.isfinite(weight).all() for weight in trainer.weights().values())


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_restart_is_a_fresh_start(
    contender: Contender, optimiser: Optimiser, precision: str
) -> None:
    workload = replace(CNN, optimiser=optimiser)
    trainer = contender.trainer(workload, precision)
    trainer.restart(initial_weights(workload, 1))  # before any step, too
    first, weights = train(trainer, workload, steps=5), trainer.weights()

    trainer.restart(initial_weights(workload, 1))
    np.testing.assert_array_equal(train(trainer, workload, steps=5), first)
    fresh = contender.trainer(workload, precision)
    np.testing.assert_array_equal(train(fresh, workload, steps=5), first)
    for name, weight in weights.items():
        np.testing.assert_array_equal(trainer.weights()[name], weight)
        np.testing.assert_array_equal(fresh.weights()[name], weight)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("network", ["same", "regression"])
def test_put_keeps_no_reference(contender: Contender, network: str, precision: str) -> None:
    workload = NETWORKS[network]
    (batch,) = batches(workload, 1)
    inputs, targets = (aligned(array) for array in batch)
    trainer = contender.trainer(workload, precision)
    put = trainer.put(inputs, targets)
    inputs[...], targets[...] = 3, 0
    trainer.step(put)
    assert trainer.loss() == loss_of(contender, workload, precision, batch)


def loss_of(
    contender: Contender, workload: Workload, precision: str, batch: tuple[np.ndarray, np.ndarray]
) -> float:
    trainer = contender.trainer(workload, precision)
    trainer.step(trainer.put(*batch))
    return trainer.loss()


@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_leaves_its_batch_alone(contender: Contender, network: str) -> None:
    workload = NETWORKS[network]
    trainer = contender.trainer(workload)
    put = trainer.put(*next(batches(workload, 1)))
    losses = []
    for _ in range(2):
        trainer.restart(initial_weights(workload, 1))
        trainer.step(put)
        losses.append(trainer.loss())
    assert losses[0] == losses[1]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_settings(contender: Contender, optimiser: Optimiser, precision: str) -> None:
    trainer = contender.trainer(replace(CNN, optimiser=optimiser), precision)
    train(trainer, CNN, steps=1)
    settings = trainer.settings()
    assert set(SETTINGS) <= set(settings)
    assert settings["precision"] == precision
    assert settings["intra_threads"] == 1
    assert settings["inter_threads"] == ("n/a" if "jax" in contender[:2] else 1)
    assert settings["tf32_matmul"] is settings["tf32_convolution"] is False
    assert settings["denormals"] in ("kept", "flushed")
    assert settings["mode"] == ("training" if contender.framework == "pytorch" else "n/a")
    assert settings["input_gradient"] == "not computed"
    channels_first = contender[:2] == ("pytorch", "default")
    assert settings["layout"] == ("NCHW" if channels_first else "NHWC")
    for name, value in vars(optimiser).items():
        assert settings[name] == pytest.approx(value, rel=1e-15 if precision == "float64" else 1e-7)


@pytest.mark.parametrize(
    ("network", "order"),
    [
        ("valid", "relu first"),
        ("activation-first", "pool first"),
        ("same", "n/a"),
        ("gaps-between-pools", "relu first"),
    ],
)
def test_the_order_of_relu_and_pool(contender: Contender, network: str, order: str) -> None:
    assert contender.trainer(NETWORKS[network]).settings()["relu_and_pool"] == order


@pytest.mark.parametrize("network", ["valid", "same-stride-2", "regression"])
def test_a_gradient_of_the_input_is_seen(contender: Contender, network: str) -> None:
    """In PyTorch a mini-batch that asks for it, in TensorFlow a step that returns it."""
    workload = NETWORKS[network]
    if contender.framework not in ("pytorch", "tensorflow"):
        pytest.skip("its step cannot be replaced from here")
    trainer: Any = contender.trainer(workload)
    if contender.framework == "pytorch":
        put = trainer.put
        trainer.put = lambda *arrays: (put(*arrays)[0].requires_grad_(), put(*arrays)[1])
    else:
        import tensorflow as tf

        network_, optimiser = trainer._network, trainer._optimiser

        @tf.function  # type: ignore[untyped-decorator]
        def step(inputs: Any, targets: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                loss = tf.reduce_sum(network_(inputs, training=True) ** 2)
            variables = network_.trainable_variables
            found, own = tape.gradient(loss, (variables, inputs))
            optimiser.apply_gradients(zip(found, variables, strict=True))
            return loss + 0 * tf.reduce_sum(own)

        trainer._train_step = step
    train(trainer, workload, steps=1)
    assert trainer.settings()["input_gradient"] == "computed"


def test_settings_do_not_disturb_training(contender: Contender) -> None:
    trainer = contender.trainer(CNN)
    train(trainer, CNN, steps=2)
    loss, weights = trainer.loss(), trainer.weights()
    trainer.settings()
    assert trainer.loss() == loss
    for name, weight in trainer.weights().items():
        np.testing.assert_array_equal(weight, weights[name])


def test_vectors_have_no_layout(contender: Contender) -> None:
    assert contender.trainer(NETWORKS["regression"]).settings()["layout"] == "n/a"


def test_synchronise_leaves_nothing_to_do(contender: Contender) -> None:
    """No processor time passes afterwards; on a GPU, nothing is left to wait for."""
    workload = small(Dense(1000), ReLU(), Dense(1), shape=(2000,), classes=None)
    trainer = contender.trainer(workload, "float32")
    put = trainer.put(*next(batches(workload, 1)))
    shares = []
    for _ in range(5):
        start = time.process_time()
        trainer.step(put)
        trainer.synchronise()
        synchronised = time.process_time()
        time.sleep(0.02)
        trainer.loss()
        shares.append((time.process_time() - synchronised) / (synchronised - start))
    assert min(shares) < 0.2


@pytest.mark.parametrize("contender", LEFT_OUT)
def test_left_out(contender: str) -> None:
    pytest.skip(LEFT_OUT[contender])


def test_unknown_variant(contender: Contender) -> None:
    adapter = started(contender.framework, contender.device, "float64")
    with pytest.raises(KeyError):
        adapter.trainer(CNN, initial_weights(CNN, 1), "typo")

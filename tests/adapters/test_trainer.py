"""What the contract asks of a trainer, beyond the rules in tests/conformance/test_frameworks.py."""

import sys
from dataclasses import replace
from typing import Any

import pytest

from frameworks.workloads import initial_weights
from frameworks.workloads.optimisers import Optimiser
from tests.adapters.training import LEFT_OUT, NETWORKS, OPTIMISERS, Contender, apart, batches, train

CNN = NETWORKS["same-stride-2"]


# One for each kind of first layer, which alone could change its input.
FIRST = ("valid", "pooled-first-of-all", "activation-first", "regression", "residual-first")


@pytest.mark.parametrize("network", FIRST)
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
    # JAX's are counted, and TensorFlow's have the same name if both are in this process.
    if contender.framework != "jax" or "tensorflow" not in sys.modules:
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


def test_settings_do_not_move_running_averages(contender: Contender) -> None:
    trainer = contender.trainer(NETWORKS["residual"])
    before = trainer.weights()
    trainer.settings()
    assert apart(trainer.weights(), before) == 0


def test_vectors_have_no_layout(contender: Contender) -> None:
    assert contender.trainer(NETWORKS["regression"]).settings()["layout"] == "n/a"


@pytest.mark.parametrize("contender", LEFT_OUT)
def test_left_out(contender: str) -> None:
    pytest.skip(LEFT_OUT[contender])

"""Each pitfall has the effect that it is listed with: on the loss, or on the time only."""

from dataclasses import replace

import numpy as np
import pytest

from frameworks.contract import Unavailable
from frameworks.registry import framework
from frameworks.workloads import Workload, initial_weights
from frameworks.workloads.layers import Conv2D, Dense, Flatten, MaxPool, ReLU
from frameworks.workloads.optimisers import SGD, Adam
from frameworks.workloads.workload import pooled_first
from tests.adapters.training import AGREE, NETWORKS, SEQUENCES, Contender, batches, train

CNN = replace(NETWORKS["valid"], optimiser=Adam())
REGRESSION = replace(NETWORKS["regression"], optimiser=Adam())

# From which step on the float64 loss is another one.
OFF = {
    ("pytorch", "trap-weights"): 1,
    ("pytorch", "trap-double-softmax"): 1,
    ("pytorch", "trap-summed-loss"): 2,
    ("tensorflow", "trap-weights"): 1,
    ("tensorflow", "trap-probabilities"): 1,
    ("tensorflow", "trap-epsilon"): 2,
    ("tensorflow", "trap-python-floats"): 2,
}
SAME = [
    ("pytorch", "trap-input-gradients"),
    ("pytorch", "trap-pooled-first"),
    ("pytorch", "trap-denormals"),
    ("pytorch", "trap-unsynchronised"),
    ("pytorch", "trap-unread"),
    ("tensorflow", "trap-pooled-first"),
    ("tensorflow", "trap-input-gradients"),
    ("tensorflow", "trap-eager"),
    ("tensorflow", "trap-xla"),
    ("tensorflow", "trap-unsynchronised"),
    ("tensorflow", "trap-unread"),
    ("jax", "trap-unsynchronised"),
    ("jax", "trap-unread"),
    ("jax", "trap-loss-only"),
]
GPU_ONLY = [("pytorch", "trap-tf32"), ("pytorch", "trap-autotune"), ("tensorflow", "trap-tf32")]
COMPILED = ("pytorch", "trap-compiled")  # takes long: tried on the smallest network alone
BIASES = ("pytorch", "trap-two-biases")


def differences(name: str, variant: str, workload: Workload, precision: str) -> np.ndarray:
    """Relative differences of each loss; after a restart, a pitfall has the same losses again."""
    trainer = Contender(name, variant).trainer(workload, precision)
    losses = train(trainer, workload)
    trainer.restart(initial_weights(workload, 1))
    np.testing.assert_array_equal(train(trainer, workload, 4), losses[:4])
    other = train(Contender(name, "default").trainer(workload, precision), workload)
    found: np.ndarray = np.abs(losses - other) / np.abs(other)
    return found


def test_none_is_forgotten() -> None:
    known = {
        (name, variant)
        for name in ("pytorch", "tensorflow", "jax")
        for variant, one in framework(name).variants.items()
        if one.pitfall
    }
    assert known == {*OFF, *SAME, *GPU_ONLY, COMPILED, BIASES}


@pytest.mark.parametrize(("name", "variant"), OFF)
def test_trains_something_else(name: str, variant: str) -> None:
    found = differences(name, variant, CNN, "float64")
    first = OFF[name, variant]
    assert (found[: first - 1] <= AGREE).all()
    assert found[first - 1] > AGREE and found[-1] > AGREE


@pytest.mark.parametrize(("name", "variant"), SAME)
def test_costs_nothing_but_time(name: str, variant: str) -> None:
    assert differences(name, variant, CNN, "float64").max() <= AGREE


@pytest.mark.parametrize("variant", ["trap-unsynchronised", "trap-loss-only"])
def test_without_waiting_jax_trains_the_same_to_the_last_bit(variant: str) -> None:
    assert (differences("jax", variant, CNN, "float32") == 0).all()


def test_what_jax_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    jax, seen = pytest.importorskip("jax"), {}
    for variant in ("default", "trap-unsynchronised", "trap-loss-only"):
        trainer, waited = Contender("jax", variant).trainer(REGRESSION), []
        monkeypatch.setattr(jax, "block_until_ready", waited.append)
        trainer.step(trainer.put(*next(batches(REGRESSION, 1))))
        trainer.synchronise()
        monkeypatch.undo()
        seen[variant] = jax.tree.leaves(waited)
        assert variant != "trap-loss-only" or seen[variant] == [trainer.loss()]
    assert seen["trap-unsynchronised"] == []
    assert len(seen["default"]) > 2 * len(REGRESSION.parameter_shapes)  # weights and Adam's state


@pytest.mark.all
def test_compiled() -> None:
    counters = pytest.importorskip("torch._dynamo.utils").counters
    before = counters["stats"]["unique_graphs"]
    assert differences(*COMPILED, REGRESSION, "float64").max() <= AGREE
    assert counters["stats"]["unique_graphs"] > before


def test_a_second_bias_moves_an_lstm_faster() -> None:
    found = differences(*BIASES, SEQUENCES["words"], "float64")
    assert found[0] <= AGREE < found[1]


@pytest.mark.parametrize(("name", "variant"), GPU_ONLY)
def test_needs_a_gpu(name: str, variant: str) -> None:
    with pytest.raises(Unavailable, match="does not apply to a processor"):
        Contender(name, variant).trainer(CNN)


@pytest.mark.parametrize(
    ("name", "variant", "reason"),
    [
        ("pytorch", "trap-pooled-first", "small: no ReLU before a max-pooling"),
        ("pytorch", "trap-double-softmax", "small: its loss takes no logits"),
        ("pytorch", "trap-two-biases", "small: it has no lstm"),
        ("tensorflow", "trap-pooled-first", "small: no ReLU before a max-pooling"),
        ("tensorflow", "trap-probabilities", "small: its loss takes no logits"),
        ("tensorflow", "trap-epsilon", "small: its optimiser is sgd, not adam"),
        ("tensorflow", "trap-python-floats", "small: its optimiser is sgd, not adam"),
    ],
)
def test_what_cannot_apply_says_so(name: str, variant: str, reason: str) -> None:
    with pytest.raises(Unavailable, match=f"does not apply to {reason}"):
        Contender(name, variant).trainer(replace(REGRESSION, optimiser=SGD()))


@pytest.mark.all
def test_numbers_as_python_floats_change_nothing_in_float32() -> None:
    found = differences("tensorflow", "trap-python-floats", CNN, "float32")
    assert (found == 0).all()
    assert differences("tensorflow", "trap-python-floats", CNN, "float64").max() < 1e-4


@pytest.mark.parametrize("workload", [CNN, REGRESSION], ids=["mean over", "mean over outputs"])
def test_a_summed_loss_is_reported_as_the_mean(workload: Workload) -> None:
    """With plain SGD a sum is a learning rate as many times as large."""
    terms = workload.batch * (1 if workload.dataset.classes else workload.outputs)
    larger = replace(workload, optimiser=SGD(1e-3 * terms))
    summed = Contender("pytorch", "trap-summed-loss").trainer(
        replace(workload, optimiser=SGD(1e-3))
    )
    mean = Contender("pytorch", "default").trainer(larger)
    np.testing.assert_allclose(train(summed, workload), train(mean, larger), rtol=AGREE)


def test_initial_weights_are_each_frameworks_own() -> None:
    canonical = initial_weights(CNN, 1)
    torch = Contender("pytorch", "trap-weights").trainer(CNN).weights()
    keras = Contender("tensorflow", "trap-weights").trainer(CNN).weights()
    bound = 0.0
    for name, weight in canonical.items():
        assert not np.isclose(torch[name], weight).any()
        if name.endswith("kernel"):
            bound = np.prod(weight.shape[:-1]) ** -0.5
            assert np.abs(keras[name]).max() <= np.sqrt(
                6 / (np.prod(weight.shape[:-1]) + np.prod((*weight.shape[:-2], weight.shape[-1])))
            )
        else:
            assert (keras[name] == 0).all()
        assert np.abs(torch[name]).max() <= bound


def test_gradients_of_the_input_are_there() -> None:
    batch = next(batches(CNN, 1))
    torch = Contender("pytorch", "trap-input-gradients").trainer(CNN)
    put = torch.put(*batch)
    torch.step(put)
    keras = Contender("tensorflow", "trap-input-gradients").trainer(CNN)
    keras.step(keras.put(*batch))
    own = keras.asked.numpy()  # type: ignore[attr-defined]
    np.testing.assert_allclose(put[0].grad.permute(0, 2, 3, 1), own, rtol=1e-9, atol=1e-15)
    assert np.abs(own).max() > 0


@pytest.mark.all
def test_settings_tell() -> None:
    def settings(name: str, variant: str) -> dict[str, object]:
        return {**Contender(name, variant).trainer(CNN).settings()}

    assert settings("tensorflow", "trap-epsilon")["epsilon"] == pytest.approx(1e-7)
    assert settings("tensorflow", "trap-eager")["compilation"] == "eager"
    assert settings("tensorflow", "trap-xla")["compilation"] == "tf.function, XLA"
    assert settings("pytorch", "trap-compiled")["compilation"] == "torch.compile"
    assert settings("pytorch", "trap-denormals")["denormals"] == "flushed"
    assert settings("pytorch", "default")["denormals"] == "kept"  # nothing stays behind


@pytest.mark.all
def test_xla_compiles() -> None:
    trainer = Contender("tensorflow", "trap-xla").trainer(REGRESSION)
    batch = trainer.put(*next(batches(REGRESSION, 1)))
    step = trainer._train_step  # type: ignore[attr-defined]
    assert "HloModule" in step.experimental_get_compiler_ir(*batch)(stage="optimized_hlo")


def test_only_a_relu_before_a_max_pooling_moves() -> None:
    layers = (ReLU(), Conv2D(3), ReLU(), MaxPool(2), Conv2D(2), ReLU(), Flatten(), Dense(4))
    moved = pooled_first(replace(CNN, layers=layers))
    assert moved.layers == (*layers[:2], MaxPool(2), ReLU(), *layers[4:])
    assert moved.parameter_shapes == replace(CNN, layers=layers).parameter_shapes
    assert pooled_first(moved) == moved

"""JAX's `tuned`: its max-pooling is the ordinary one bit for bit, and its weights keep their
memory."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from frameworks.workloads import initial_weights
from frameworks.workloads.layers import Conv2D, Dense, Flatten, Layer, MaxPool, ReLU
from frameworks.workloads.optimisers import Adam
from tests.adapters.training import NETWORKS, Contender, batches, small, train

jax = pytest.importorskip("jax")
from frameworks.jax import network, tuned  # noqa: E402

TUNED, DEFAULT = Contender("jax", "tuned"), Contender("jax", "default")

# Windows that fit, that leave pixels over at the edges, and that have gaps between them.
WINDOWS = [
    *((2, 2), (3, 3), (1, 1), (2, 3), (1, 2)),
    pytest.param(12, 12, marks=pytest.mark.all),  # takes seconds to compile
]


def pooled(room: Any, pool: MaxPool, images: Any) -> tuple[Any, Any]:
    """The pooled images, and the gradient of their sum, each times its number."""
    values, backward = jax.vjp(room.function(pool, images.shape[1:]), images)
    return values, backward(np.arange(values.size, dtype=np.float32).reshape(values.shape))[0]


@pytest.mark.parametrize(("size", "step"), WINDOWS)
def test_ties_and_edges_are_as_in_the_ordinary_pooling(size: int, step: int) -> None:
    """Also for images of few values, where most windows have several maxima."""
    random = np.random.default_rng(size)
    for values in (2, 3, 1000):
        images = random.integers(0, values, (3, 15, 13, 2)).astype(np.float32)
        own, ordinary = (pooled(r, MaxPool(size, step), images) for r in (tuned, network))
        np.testing.assert_array_equal(own[0], ordinary[0])
        np.testing.assert_array_equal(own[1], ordinary[1])


@pytest.mark.parametrize(
    ("contender", "pool", "found"),
    [
        (DEFAULT, MaxPool(2), "reduce_window"),
        (TUNED, MaxPool(2), "slices"),
        (TUNED, MaxPool(3, 2), "reduce_window"),  # its windows overlap
        pytest.param(TUNED, MaxPool(2, 3), "slices", marks=pytest.mark.all),
        pytest.param(TUNED, MaxPool(2, 2, 1), "reduce_window", marks=pytest.mark.all),
    ],
)
def test_what_the_pooling_is_made_of(contender: Contender, pool: MaxPool, found: str) -> None:
    workload = small(pool, Flatten(), Dense(4))
    assert contender.trainer(workload).settings()["max_pooling"] == found


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ((Conv2D(32), ReLU(), Conv2D(32, 2, stride=2), ReLU(), Conv2D(4, 1, stride=2)), "patches"),
        ((Conv2D(32, bias=False), Conv2D(5, 3, padding=1)), "NHWC and patches"),
        ((Conv2D(31), Conv2D(32, 3, padding=((0, 0), (1, 0)))), "NHWC"),
    ],
)
def test_convolutions_as_products_are_the_ordinary_ones(layers: list[Layer], found: str) -> None:
    workload = small(*layers, Flatten(), Dense(4), shape=(15, 13, 3))
    own = Contender("jax", "products").trainer(workload)
    np.testing.assert_allclose(
        train(own, workload), train(DEFAULT.trainer(workload), workload), rtol=1e-12
    )
    settings = own.settings()
    assert (settings["layout"], settings["input_gradient"]) == (found, "not computed")


@pytest.mark.parametrize(
    ("contender", "memory"), [(DEFAULT, "new in every step"), (TUNED, "reused")]
)
def test_memory_of_the_weights(contender: Contender, memory: str) -> None:
    trainer = contender.trainer(replace(NETWORKS["valid"], optimiser=Adam()))
    assert trainer.settings()["weights_memory"] == memory


def test_what_was_given_or_taken_before_a_step_stays() -> None:
    """A step writes over the arrays of the trainer, and over no others."""
    workload = NETWORKS["regression"]
    given = initial_weights(workload, 1)
    before = {name: value.copy() for name, value in given.items()}
    trainer = TUNED.trainer(workload, "float32", given)
    taken = trainer.weights()
    for batch in batches(workload, 3):
        trainer.step(trainer.put(*batch))
    trainer.synchronise()
    for name, value in before.items():
        np.testing.assert_array_equal(given[name], value)
        np.testing.assert_array_equal(taken[name], value)
        assert not np.array_equal(trainer.weights()[name], value)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_first_steps_are_those_of_default(precision: str) -> None:
    """Bit for bit: neither slices nor donated memory change what is computed."""
    workload = replace(NETWORKS["valid"], optimiser=Adam())
    own, other = (one.trainer(workload, precision) for one in (TUNED, DEFAULT))
    np.testing.assert_array_equal(train(own, workload, 5), train(other, workload, 5))

"""Layers that hold layers, and layers with state: what follows from their description."""

import numpy as np
import pytest

from frameworks.oracle import OracleTrainer
from frameworks.workloads import (
    WorkloadError,
    from_dict,
    initial_weights,
    leaves,
    load,
    narrowed,
    to_dict,
)
from frameworks.workloads.layers import Conv2D, Dense, GlobalAveragePool, MaxPool, ReLU
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.smaller import miniature
from frameworks.workloads.workload import pooled_first
from tests.adapters.training import NETWORKS, small
from workflows.planning.entries import CertificateEntry

BLOCK = {
    "residual": {
        "body": [
            {"conv2d": {"filters": 6, "stride": 2, "padding": 1, "bias": False}},
            {"batch_norm": {"epsilon": "1e-3"}},  # as YAML reads it
            "relu",
        ],
        "shortcut": [{"subsample": {"stride": 2, "channels": 6}}],
    }
}
STORED = {"batch_norm": {"batch_statistics": False}}
TINY = {
    "name": "tiny",
    "dataset": {"kind": "normal", "samples": 64, "shape": [8, 6, 2], "classes": 3},
    "batch": 8,
    "layers": [BLOCK, {"residual": {"body": [{"conv2d": 6}], "shortcut": [{"conv2d": 6}]}},
               "global_average_pool", {"dense": 3}],
    "loss": "sparse_cross_entropy",
    "optimiser": "sgd",
}  # fmt: skip


def test_names_are_nested_and_state_comes_last():
    workload = from_dict(TINY)
    assert list(workload.tensor_shapes) == [
        "residual1.conv2d1.kernel",
        "residual1.batch_norm1.gamma",
        "residual1.batch_norm1.beta",
        "residual2.conv2d1.kernel",
        "residual2.conv2d1.bias",
        "residual2.shortcut.conv2d1.kernel",
        "residual2.shortcut.conv2d1.bias",
        "dense1.kernel",
        "dense1.bias",
        "residual1.batch_norm1.mean",
        "residual1.batch_norm1.variance",
    ]
    assert set(workload.state_shapes.values()) == {(6,)}
    assert [stage.name for stage in leaves(workload.stages)][:4] == [
        "residual1.conv2d1",
        "residual1.batch_norm1",
        "residual1.relu1",
        "residual1.shortcut.subsample1",
    ]


def test_parameters_count_and_state_does_not():
    workload = from_dict(TINY)
    first, second = 9 * 2 * 6, 2 * (9 * 6 * 6 + 6)
    assert workload.parameters == first + 12 + second + 6 * 3 + 3
    forward = 4 * 3 * first + 2 * (2 * 1 * 9 * 6 * 6) + 18
    assert workload.multiply_adds == forward
    assert workload.flops_per_step == 2 * 8 * (3 * forward - 4 * 3 * first)
    # State is read and written once, and has neither a gradient nor an optimiser.
    assert workload.bytes_per_step() == 4 * (6 * workload.parameters - first + 2 * 12)
    body = [BLOCK["residual"]["body"][0], {"batch_norm": {"batch_statistics": False}}]
    block = {"residual": {**BLOCK["residual"], "body": body}}
    stored = from_dict({**TINY, "layers": [block, *TINY["layers"][1:]]})
    assert stored.bytes_per_step() == 4 * (6 * workload.parameters - first + 12)


@pytest.mark.parametrize(
    ("layers", "spared"),
    [
        ([BatchNorm(), Conv2D(2, 1)], 0),  # gamma has a gradient: so has the input of conv2d1
        ([Residual((Conv2D(2, 1),), (Conv2D(2, 1),)), Conv2D(2, 1)], 2),
        ([Residual((ReLU(),)), Conv2D(2, 1)], 1),
    ],
)
def test_no_gradient_of_the_input_is_counted(layers, spared):
    workload = small(*layers, GlobalAveragePool(), Dense(4))
    each = 9 * 8 * 2 * 2
    assert workload.flops_per_step == 2 * 6 * (3 * workload.multiply_adds - spared * each)


def test_descriptions_survive_the_way_to_json_and_back():
    limits = {"steps": 7, "rounding": "1e-4", "learning_rate": 0.1}
    for workload in (from_dict(TINY), load("resnet-50", {"certificate": limits})):
        assert from_dict(to_dict(workload)) == workload
    assert from_dict(TINY).layers[0].body[1] == BatchNorm(1e-3, 0.1)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([{"residual": {"body": [{"conv2d": 3}]}}],
         r"layer residual1: adds shape \(6, 4, 3\) of its body and shape \(8, 6, 2\) of its short"),
        ([{"residual": {"body": ["relu", {"conv": 3}]}}],
         r"layer 1 \(residual\) body 2: unknown kind 'conv', did you mean 'conv2d'"),
        ([{"residual": {"body": []}}], "layer residual1: a network needs at least one layer"),
        ([{"residual": {"body": "relu"}}], r"layer 1 \(residual\) body: a list is wanted"),
        ([{"residual": {"body": [{"dense": 3}]}}], "layer residual1: layer dense1: needs a vector"),
        ([{"subsample": {"stride": 2, "channels": 1}}], "has 2 channels, more than 1"),
        ([{"batch_norm": {"epsilon": 0}}], "epsilon: a number between 0 and 1 is wanted, got 0"),
        ([{"batch_norm": {"momentum": 1.5}}], "momentum: a number between 0 and 1 is wanted"),
        ([{"batch_norm": {"batch_statistics": 0}}], "batch_statistics: true or false is wanted"),
    ],
)  # fmt: skip
def test_bad_descriptions_are_refused_where_they_are_wrong(layers, message):
    with pytest.raises(WorkloadError, match=message):
        from_dict({**TINY, "layers": [*layers, "global_average_pool", {"dense": 3}]})


def test_one_value_has_no_variance():
    with pytest.raises(WorkloadError, match="layer batch_norm1: the variance of one value is 0"):
        from_dict({**TINY, "batch": 1, "layers": ["flatten", "batch_norm", {"dense": 3}]})
    assert from_dict({**TINY, "batch": 1, "layers": ["flatten", STORED, {"dense": 3}]})


def test_scales_and_shifts_are_neither_one_nor_zero():
    workload = from_dict(TINY)
    for name, value in initial_weights(workload, 1).items():
        centre = 1 if name.endswith(("gamma", "variance")) else 0
        assert (value != centre).all(), name
        if centre:
            assert (abs(value - 1) <= 0.2).all()


def test_biases_before_a_batch_normalisation_have_no_effect():
    assert NETWORKS["residual"].idle == {"residual1.conv2d1.bias"}
    assert NETWORKS["residual-first"].idle == {"dense1.bias"}
    assert load("resnet-50", None).idle == set()


@pytest.mark.parametrize(
    ("layers", "idle"),
    [
        (["flatten", "batch_norm", "batch_norm"], {"batch_norm1.beta"}),
        ([{"conv2d": 2}, {"conv2d": 2}, "batch_norm"], {"conv2d1.bias", "conv2d2.bias"}),
        ([{"conv2d": 2}, {"conv2d": {"filters": 2, "padding": 1}}, "batch_norm"], {"conv2d2.bias"}),
        ([{"conv2d": 2}, {"conv2d": {"filters": 2, "kernel": 1, "padding": "same"}}, "batch_norm"],
         {"conv2d1.bias", "conv2d2.bias"}),
        ([{"conv2d": 2}, {"average_pool": 2}, "flatten", "batch_norm"], {"conv2d1.bias"}),
        ([{"conv2d": 2}, {"average_pool": {"padding": 1}}, "batch_norm"], set()),
        ([{"conv2d": 2}, {"max_pool": {"padding": 1}}, "batch_norm"], {"conv2d1.bias"}),
        ([{"conv2d": 2}, "relu", "batch_norm"], set()),
        ([{"conv2d": 2}, STORED], set()),
        ([{"conv2d": 2}, STORED, "batch_norm"], {"conv2d1.bias", "batch_norm1.beta"}),
        ([{"conv2d": 2}, {"residual": {"body": [{"conv2d": {"filters": 2, "kernel": 1}}]}},
          "batch_norm"], {"conv2d1.bias", "residual1.conv2d1.bias"}),
        ([{"conv2d": 2}, {"residual": {"body": ["relu", {"conv2d": {"filters": 2, "kernel": 1}}]}},
          "batch_norm"], {"residual1.conv2d1.bias"}),
    ],
)  # fmt: skip
def test_biases_are_idle_if_they_reach_a_batch_normalisation_as_constants(layers, idle):
    """NumPy's gradients of them are nothing but rounding, and no others are."""
    workload = from_dict({**TINY, "layers": [*layers, "relu", "flatten", {"dense": 3}]})
    assert workload.idle == idle
    draw = np.random.default_rng(1)
    inputs = draw.normal(size=(8, *workload.dataset.shape))
    trainer = OracleTrainer(workload, initial_weights(workload, 1))
    _, gradients = trainer.differentiate(*trainer.put(inputs, draw.integers(0, 3, 8)))
    assert {name for name, own in gradients.items() if abs(own).max() < 1e-12} == idle


def test_a_cross_entropy_has_at_least_two_outputs():
    with pytest.raises(WorkloadError, match="of a single output is always 0"):
        from_dict({**TINY, "dataset": {**TINY["dataset"], "classes": 1},
                   "layers": ["flatten", {"dense": 1}]})  # fmt: skip


def test_narrow_copies_keep_their_paths_alike():
    narrow = narrowed(load("resnet-50", None))
    widths = {s.output_shape[-1] for s in leaves(narrow.stages) if isinstance(s.layer, Conv2D)}
    assert widths == {16} and narrow.batch == 16
    # What cannot be narrowed alike stays as it is.
    wide = small(
        Residual((Dense(1500),)), Dense(4), shape=(1500,), classes=None
    )  # the input is narrowed to 512 and the layer to 128
    assert narrowed(wide) == wide


def test_blocks_and_width_of_a_residual_network():
    layers = load("resnet-56", {"blocks": [1, 2], "width": 4}).layers
    found = [layer for layer in layers if isinstance(layer, Residual)]
    assert [layer.body[0].filters for layer in found] == [4, 8, 8]
    assert [layer.shortcut for layer in found] == [(), (Subsample(2, 8),), ()]
    with pytest.raises(WorkloadError, match="blocks: a list of whole numbers is wanted"):
        load("resnet-56", {"blocks": 3})


def test_relu_and_pooling_change_places_inside_a_block_and_not_across_its_border():
    inside = Residual((ReLU(), MaxPool(1)))
    workload = small(ReLU(), inside, MaxPool(2), GlobalAveragePool(), Dense(4))
    moved = pooled_first(workload).layers
    assert moved[:3] == (ReLU(), Residual((MaxPool(1), ReLU())), MaxPool(2))


def test_a_workload_may_allow_a_certificate_less():
    asked = CertificateEntry(steps=50, full_steps=3)
    limits = {"steps": 20, "full_steps": 1, "tolerance": 1e-11, "rounding": 1e-3}
    found = asked.allowed(load("mlp", {"certificate": limits}))
    assert {name: getattr(found, name) for name in limits} == limits
    assert asked.allowed(load("mlp", {"certificate": {"steps": 200}})) == asked
    assert asked.allowed(load("mlp", None)) == asked
    for wrong, message in (
        ({"steps": 0}, "steps: a whole number"),
        ({"rounding": 2.0}, "rounding: a number between 0 and 1"),
        ({"tolerance": 1e-5}, "tolerance: a number between 0 and 1e-06"),
        ({"step": 2}, "unknown key 'step'"),
        (20, "steps, rounding and the like are wanted"),
    ):
        with pytest.raises(WorkloadError, match=message):
            load("mlp", {"certificate": wrong})


def test_smaller_copies_may_train_at_another_rate():
    small, wide = ({"features": n, "certificate": {"learning_rate": 2.0**-18}} for n in (9, 20_000))
    for entry in (small, wide):
        workload = load("mlp", entry)
        assert workload.optimiser.learning_rate == 1e-3
        for copy in (narrowed(workload), miniature(workload)):
            assert copy.optimiser.learning_rate == 2.0**-18

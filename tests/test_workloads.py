"""The neutral descriptions, and what follows from them."""

import dataclasses

import numpy as np
import pytest

from frameworks.workloads import (
    CATALOGUE,
    WorkloadError,
    from_dict,
    initial_weights,
    load,
    narrowed,
    to_dict,
)  # fmt: skip
from frameworks.workloads.layers import AveragePool, Conv2D, GlobalAveragePool, MaxPool

TINY = {
    "name": "tiny",
    "dataset": {"kind": "normal", "samples": 64, "shape": [9, 7, 2], "classes": 3},
    "batch": 8,
    "layers": [
        {"conv2d": {"filters": 4, "kernel": 3, "stride": 2, "padding": "same"}},
        "tanh",
        {"average_pool": {"size": 2, "stride": 1}},
        "flatten",
        {"dense": 3},
    ],
    "loss": "sparse_cross_entropy",
    "optimiser": {"rmsprop": {"learning_rate": 0.01}},
}


def test_the_perceptron_of_the_default_study():
    workload = load("mlp", {})
    assert workload.parameters == 10_000 * 1000 + 1000 + 1000 * 1000 + 1000 + 1000 + 1 == 11_003_001
    assert (workload.batch, workload.batches) == (32, 312)
    assert workload.loss == "mean_squared_error"
    forward = 2 * 32 * (10_000 * 1000 + 1000 * 1000 + 1000)
    assert workload.flops_per_step == 3 * forward - 2 * 32 * 10_000 * 1000
    # Weights read twice (the first layer's once), gradient written and read, Adam's two
    # moments and the weight read and written: the "about 440 MB a step" of a MLP's traffic.
    assert workload.bytes_per_step() == 4 * (10 * 11_003_001 - 10_000_000)
    assert workload.bytes_per_step("float64") == 2 * workload.bytes_per_step()


def test_the_convolutional_network_of_the_default_study():
    workload = load("mnist-cnn", {})
    shapes = [stage.output_shape for stage in workload.stages if stage.layer.kind != "relu"]
    assert shapes == [
        (26, 26, 32), (13, 13, 32), (11, 11, 64), (5, 5, 64), (3, 3, 64), (576,), (64,), (10,),
    ]  # fmt: skip
    assert workload.parameters == 320 + 18_496 + 36_928 + 36_928 + 650
    kinds = [stage.layer.kind for stage in workload.stages]
    assert kinds == ["conv2d", "relu", "max_pool", "conv2d", "relu", "max_pool",
                     "conv2d", "relu", "flatten", "dense", "relu", "dense"]  # fmt: skip
    first = 26 * 26 * 32 * 9
    others = 11 * 11 * 64 * 9 * 32 + 3 * 3 * 64 * 9 * 64 + 576 * 64 + 64 * 10
    assert workload.flops_per_step == 2 * 64 * (2 * first + 3 * others)


@pytest.mark.parametrize("name", CATALOGUE)
def test_descriptions_survive_the_way_to_json_and_back(name):
    assert from_dict(to_dict(load(name, None))) == load(name, None)
    assert from_dict(to_dict(from_dict(TINY))) == from_dict(TINY)


def test_workloads_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load("mlp", None).batch = 3


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "output", "pads"),
    [
        (5, 3, 1, 5, (1, 1)),
        (5, 3, 2, 3, (1, 1)),
        (6, 3, 2, 3, (0, 1)),  # the odd one below, as TensorFlow pads
        (7, 2, 1, 7, (0, 1)),
        (7, 4, 3, 3, (1, 2)),
        (4, 1, 2, 2, (0, 0)),
    ],
)
def test_same_padding(size, kernel, stride, output, pads):
    layer = Conv2D(1, kernel, stride, "same")
    assert layer.output_shape((size, size, 1)) == (output, output, 1)
    assert layer.pads((size, size, 1)) == (pads, pads)


def test_pooling_shapes():
    assert MaxPool(2).output_shape((5, 6, 3)) == (2, 3, 3)
    assert AveragePool(3, 1).output_shape((5, 6, 3)) == (3, 4, 3)
    assert GlobalAveragePool().output_shape((5, 6, 3)) == (3,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": ["flaten", {"dense": 3}]}, "layer 1: unknown kind 'flaten', did you mean"),
        ({"layers": [{"dense": 3}]}, r"layer dense1: needs a vector, got shape \(9, 7, 2\)"),
        ({"layers": ["flatten", "flatten", "max_pool"]},
         r"layer max_pool1: needs \(height, width, channels\), got shape \(126,\)"),
        ({"layers": [{"conv2d": {"filters": 2, "kernel": 8}}, "flatten", {"dense": 3}]},
         r"layer conv2d1: window 8x8 does not fit into shape \(9, 7, 2\)"),
        ({"layers": [{"conv2d": {"kernel": 3}}]}, r"layer 1 \(conv2d\): filters is missing"),
        ({"layers": [{"conv2d": {"filters": 2, "pad": 1}}]}, "unknown key 'pad'"),
        ({"layers": [{"conv2d": {"filters": 2, "padding": "full"}}]}, "padding 'full'"),
        ({"layers": ["flatten", {"dense": -3}]}, "units: a whole number from 1"),
        ({"layers": ["flatten", {"dense": "many"}]}, "units: a whole number from 1"),
        ({"layers": ["flatten"]}, "no layer has anything to train"),
        ({"layers": []}, "at least one layer"),
        ({"layers": {"dense": 3}}, "layers: a list is wanted"),
        ({"layers": [{"conv2d": 3}]}, r"the last layer gives shape \(7, 5, 3\)"),
        ({"layers": ["flatten", {"dense": 2}]}, "labels below the 2 outputs"),
        ({"loss": "hinge"}, "loss 'hinge' is not one of"),
        ({"optimiser": {"adam": {"lr": 1}}}, "unknown key 'lr'"),
        ({"optimiser": {"adam": {"learning_rate": -1}}}, "a number is wanted, got -1"),
        ({"optimiser": ["adam"]}, "optimiser: a name or one name with its values"),
        ({"batch": 65}, "batch 65 is larger than the data set's 64 samples"),
        ({"dataset": {"kind": "normal", "samples": 64}}, "dataset: shape is missing"),
        ({"dataset": "normal"}, "dataset: kind, samples and shape are wanted"),
        ({"dataset": {"kind": "cifar", "samples": 64, "shape": [2]}}, "not normal or mnist"),
        ({"layer": []}, "unknown key 'layer', did you mean 'layers'"),
    ],
)  # fmt: skip
def test_bad_descriptions_are_refused_where_they_are_wrong(changes, message):
    with pytest.raises(WorkloadError, match=message):
        from_dict({**TINY, **changes})


def test_numbers_that_yaml_takes_for_text():
    workload = load("mlp", {"optimiser": {"adam": {"learning_rate": "1e-3"}}})
    assert workload.optimiser.learning_rate == 0.001


def test_missing_parts_are_named():
    with pytest.raises(WorkloadError, match="without batch, loss"):
        from_dict({key: value for key, value in TINY.items() if key not in ("batch", "loss")})


def test_weights_are_the_same_every_time_and_none_is_zero():
    workload = from_dict(TINY)
    one, other = initial_weights(workload, 1), initial_weights(workload, 1)
    assert {n: w.shape for n, w in one.items()} == workload.parameter_shapes
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert all(weight.dtype == np.float32 and (weight != 0).all() for weight in one.values())
    assert not np.array_equal(one["dense1.kernel"], initial_weights(workload, 2)["dense1.kernel"])
    fan_in = 3 * 3 * 2
    assert np.abs(one["conv2d1.kernel"]).max() <= fan_in**-0.5
    assert np.abs(one["conv2d1.bias"]).max() <= fan_in**-0.5


def test_narrow_copies_keep_everything_but_width():
    wide = load("mlp", None)
    narrow = narrowed(wide)
    assert narrow.parameters < 100_000
    assert [s.layer.kind for s in narrow.stages] == [s.layer.kind for s in wide.stages]
    assert (narrow.optimiser, narrow.loss) == (wide.optimiser, wide.loss)
    assert narrow.outputs == wide.outputs
    images = narrowed(load("mnist-cnn", None))
    assert images.batch == 16 and images.stages[0].output_shape == (26, 26, 16)
    small = load("mnist-cnn", {"filters": [4, 4], "batch": 8})
    assert narrowed(small) == small

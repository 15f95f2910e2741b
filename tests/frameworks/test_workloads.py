"""The neutral descriptions, and what follows from them."""

import dataclasses
import re

import numpy as np
import pytest

from frameworks.workloads import (
    CATALOGUE,
    WorkloadError,
    from_dict,
    initial_weights,
    leaves,
    load,
    narrowed,
    to_dict,
)  # fmt: skip
from frameworks.workloads.layers import AveragePool, Conv2D, GlobalAveragePool, MaxPool
from frameworks.workloads.sequences import LSTM, Embedding

TINY = {
    "name": "tiny",
    "dataset": {"kind": "normal", "samples": 64, "shape": [9, 7, 2], "classes": 3},
    "batch": 8,
    "layers": [
        {"conv2d": {"filters": 4, "kernel": 3, "stride": 2, "padding": "same"}},
        "tanh",
        {"average_pool": {"size": 2, "stride": 1}},
        {"conv2d": {"filters": 2, "padding": [[1, 0], [0, 2]], "bias": False}},
        "flatten",
        {"dense": 3},
    ],
    "loss": "sparse_cross_entropy",
    "optimiser": {"rmsprop": {"learning_rate": 0.01}},
}
TEXT = {"kind": "tokens", "samples": 64, "shape": [4], "classes": 5}
WORDS = {
    "dataset": TEXT,
    "layers": [{"embedding": {"words": 5, "features": 2}}, {"dense": 5}],
    "loss": "sparse_cross_entropy",
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


@pytest.mark.parametrize(
    ("name", "parameters", "tensors", "multiply_adds", "gflop", "megabytes"),
    [  # the last three as the specification of these networks has them
        ("fcn-s", 117_997_696, 8, 117.96, 38.3, 2613),
        ("alexnet-s", 62_378_344, 16, 1135.26, 105.6, 1497),
        ("fcn-r", 14_205_962, 8, 14.20, 83.9, 448),
        ("alexnet-r", 85_098, 8, 10.73, 60.9, 3),
        ("resnet-56", 853_018, 167, 125.49, 96.3, 27),
        ("resnet-50", 25_557_032, 161, 4089.18, 388.8, 818),
        ("lstm", 6_180_624, 9, 115.47, 88.7, 138),
    ],
)  # fmt: skip
def test_the_networks_of_shi_et_al(name, parameters, tensors, multiply_adds, gflop, megabytes):
    workload = load(name, None)
    assert (workload.parameters, len(workload.parameter_shapes)) == (parameters, tensors)
    assert round(workload.multiply_adds / 1e6, 2) == multiply_adds
    assert round(workload.flops_per_step / 1e9, 1) == gflop
    assert round(workload.bytes_per_step() / 1e6) == megabytes


@pytest.mark.parametrize(
    ("name", "entry", "parameters", "gflop"),
    [  # as the specification has them, which counts what was trained under these names
        ("resnet-50", {"strides_first": True}, 25_557_032, 366.6),
        ("resnet-50", {"batch_statistics": False}, 25_557_032, 388.8),
        ("resnet-50", {"padded_start": False, "strides_first": True}, 25_557_032, 355.3),
        ("resnet-56", {"batch_statistics": False}, 853_018, 96.3),
        ("resnet-56", {"relu_after_addition": False}, 853_018, 96.3),
        ("resnet-56", {"shortcut_convolutions": True, "blocks": [18, 18, 18]}, 1_730_714, 194.3),
    ],
)
def test_what_else_was_called_a_resnet(name, entry, parameters, gflop):
    workload = load(name, entry)
    assert (workload.parameters, round(workload.flops_per_step / 1e9, 1)) == (parameters, gflop)
    assert workload.layers != load(name, None).layers
    for wrong in ("no", [1]):
        said = re.escape(f"true or false is wanted, got {wrong!r}")
        with pytest.raises(WorkloadError, match=said):
            load(name, {**entry, next(iter(entry)): wrong})


def test_an_embedding_needs_the_gradient_behind_it():
    """So each step of each word costs three times the forward pass."""
    workload = load("lstm", None)
    assert workload.flops_per_step == 6 * workload.batch * workload.multiply_adds
    vectors = dataclasses.replace(
        workload,
        dataset=dataclasses.replace(workload.dataset, kind="normal", shape=(32, 256)),
        layers=workload.layers[1:],
    )
    spared = workload.batch * vectors.stages[0].layer.multiply_adds((32, 256))
    assert workload.flops_per_step - vectors.flops_per_step == 2 * spared


def test_sequences_have_a_target_for_each_step():
    inputs, targets = load("lstm", {"batch": 3, "samples": 3}).zeros()
    assert (inputs.shape, targets.shape) == ((3, 32), (3, 32))
    assert inputs.dtype == targets.dtype == np.int32


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("alexnet-s", [224, 55, 27, 27, 13, 13, 13, 13, 6]),
        ("alexnet-r", [32, 32, 15, 15, 7, 7, 3]),
        ("resnet-50", [224, 112, 56]),  # of the layers before the blocks
    ],
)
def test_sides_of_the_images(name, sides):
    stages = [s for s in load(name, None).stages if hasattr(s.layer, "padding")]
    assert [stages[0].input_shape[0], *(s.output_shape[0] for s in stages)] == sides
    assert all(s.output_shape[0] == s.output_shape[1] for s in stages)


def test_filters_of_every_convolution():
    with pytest.raises(WorkloadError, match="filters: 5 numbers are wanted"):
        load("alexnet-s", {"filters": [1, 2, 3]})


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


def test_padding_by_number_and_by_side():
    numbered, sided = Conv2D(1, 3, 2, 1), Conv2D(1, 3, 1, ((0, 2), (1, 0)))
    assert numbered.output_shape((6, 7, 1)) == (3, 4, 1)
    assert numbered.pads((6, 7, 1)) == ((1, 1), (1, 1))
    assert sided.output_shape((6, 7, 1)) == (6, 6, 1)
    assert Conv2D(1, 5, padding=1).output_shape((3, 3, 1)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (Conv2D(1, 3, 1, 1), "same"),
        (Conv2D(1, 3, 2, 1), None),  # `same` has no row at the top of an even side
        (Conv2D(1, 3, 1, ((1, 1), (1, 0))), None),
        (Conv2D(1, 3, 1, 0), "valid"),
        (Conv2D(1, 1, 1, "same"), "same"),
    ],
)
def test_a_framework_may_know_the_padding_by_a_name(layer, name):
    assert layer.padding_name((6, 6, 1)) == name


def test_a_convolution_may_have_no_bias():
    assert Conv2D(4, bias=False).parameter_shapes((6, 6, 2)) == {"kernel": (3, 3, 2, 4)}


def test_pooling_shapes():
    assert MaxPool(3, 2, 1).output_shape((112, 111, 64)) == (56, 56, 64)
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
        ({"layers": [{"conv2d": {"filters": 2, "padding": -1}}]}, "padding -1 is not valid, same"),
        ({"layers": [{"conv2d": {"filters": 2, "padding": [1, 1]}}]}, "form .*top, bottom"),
        ({"layers": [{"conv2d": {"filters": 2, "padding": True}}]}, "padding True is not"),
        ({"layers": [{"conv2d": {"filters": 2, "bias": 0}}]}, "bias: true or false is wanted"),
        ({"layers": [{"max_pool": {"size": 3, "padding": 2}}]}, "from 0 to half the size 3"),
        ({"layers": [{"max_pool": {"padding": "same"}}]}, "layer max_pool1: padding 'same' is not"),
        ({"layers": ["flatten", {"dense": -3}]}, "units: a whole number from 1"),
        ({"layers": ["flatten", {"dense": "many"}]}, "units: a whole number from 1"),
        ({"layers": ["flatten"]}, "no layer has anything to train"),
        ({"layers": ["flatten", "divide"]}, "a single operation is the only layer"),
        ({"layers": ["copy"]}, "on vectors, with a batch of 1 and the loss mean_squared_error"),
        ({"layers": [{"fill": 0}]}, "repeat: a whole number from 1"),
        ({"layers": []}, "at least one layer"),
        ({"layers": {"dense": 3}}, "layers: a list is wanted"),
        ({"layers": [{"conv2d": 3}]}, r"the last layer gives shape \(7, 5, 3\)"),
        ({"layers": ["flatten", {"dense": 2}]}, "labels below the 2 outputs"),
        ({"loss": "hinge"}, "loss 'hinge' is not one of"),
        ({"optimiser": {"adam": {"lr": 1}}}, "unknown key 'lr'"),
        ({"optimiser": {"adam": {"learning_rate": -1}}}, "from 0 to 1e6 is wanted, got -1"),
        ({"optimiser": "adamm"}, "did you mean 'adam'"),
        ({"batch": 0.5}, "batch"),
        ({"optimiser": ["adam"]}, "optimiser: a name or one name with its values"),
        ({"batch": 65}, "batch 65 is larger than the data set's 64 samples"),
        ({"dataset": {"kind": "normal", "samples": 64}}, "dataset: shape is missing"),
        ({"dataset": "normal"}, "dataset: kind, samples and shape are wanted"),
        ({"dataset": {"kind": "cifar", "samples": 64, "shape": [2]}}, "'cifar' is not one of norm"),
        ({"layer": []}, "unknown key 'layer', did you mean 'layers'"),
        ({"layers": [{"lstm": 3}]}, r"layer lstm1: needs a sequence .*, got shape \(9, 7, 2\)"),
        ({"layers": ["flatten", {"dense": 3}, {"embedding": {"words": 5, "features": 2}}]},
         "an embedding has to be the first layer"),
        ({**WORDS, "layers": ["flatten", {"dense": 3}]}, "tokens needs an embedding"),
        ({**WORDS, "dataset": {**TEXT, "kind": "normal"}}, "an embedding needs the data set token"),
        ({**WORDS, "dataset": {**TEXT, "classes": 6}}, "has 5 words, and the data set has 6"),
        ({**WORDS, "loss": "mean_squared_error"}, r"targets have shape \(4, 5\)"),
        ({**WORDS, "layers": [WORDS["layers"][0], "flatten", {"dense": 5}]}, "targets have shape"),
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


def test_weights_of_sequences():
    """An LSTM's are bounded by its units, whatever its inputs are."""
    weights = initial_weights(load("lstm", {"words": 99, "units": 25}), 1)
    bounds = {"embedding1.table": 0.1, "dense1.kernel": 0.2}
    bounds |= {name: 0.2 for name in weights if name.startswith("lstm")}
    for name, bound in bounds.items():
        assert 0.9 * bound < np.abs(weights[name]).max() <= np.float32(bound), name
    assert (weights["embedding1.table"] != 0).all()


def test_narrow_copies_keep_everything_but_width():
    wide = load("mlp", None)
    narrow = narrowed(wide)
    assert narrow.parameters < 100_000
    assert [s.layer.kind for s in narrow.stages] == [s.layer.kind for s in wide.stages]
    assert (narrow.optimiser, narrow.loss) == (wide.optimiser, wide.loss)
    assert narrow.outputs == wide.outputs
    assert narrowed(load("fcn-s", None)).dataset.classes == 26_752
    images = narrowed(load("mnist-cnn", None))
    assert images.batch == 16 and images.stages[0].output_shape == (26, 26, 16)
    small = load("mnist-cnn", {"filters": [4, 4], "batch": 8})
    assert narrowed(small) == small


def test_a_narrow_copy_of_sequences():
    narrow = narrowed(load("lstm", None))
    assert [s.layer.kind for s in narrow.stages] == ["embedding", "lstm", "lstm", "dense"]
    assert narrow.layers[:2] == (Embedding(512, 128), LSTM(128))
    assert (narrow.dataset.shape, narrow.dataset.classes, narrow.outputs) == ((8,), 512, 512)
    assert narrow.flops_per_step < load("lstm", None).flops_per_step / 100


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("alexnet-s", (96, 128, 3)),
        ("alexnet-r", (24, 32, 3)),
        ("resnet-56", (12, 16, 3)),
        ("resnet-50", (96, 128, 3)),
    ],
)
def test_narrow_copies_have_small_images(name, shape):
    """And every window pads and leaves over as before."""
    wide, narrow = load(name, None), narrowed(load(name, None))
    assert narrow.dataset.shape == shape
    assert narrow.flops_per_step < wide.flops_per_step / 90
    for one, other in zip(leaves(wide.stages), leaves(narrow.stages), strict=True):
        if one.layer.kind == "conv2d":
            assert one.layer.pads(one.input_shape) == other.layer.pads(other.input_shape)
            assert left_over(one) == left_over(other)
        elif hasattr(one.layer, "size"):
            assert left_over(one) == left_over(other)


def left_over(stage):
    layer = stage.layer
    size, step = (getattr(layer, "kernel", 0) or layer.size), getattr(layer, "step", layer.stride)
    return [(n + 2 * layer.padding - size) % step for n in stage.input_shape[:2]]


def test_a_single_operation_counts_its_numbers_and_vectors():
    divide = load("divide", {"repeat": 10})
    assert divide.tensor_shapes == {"divide1.result": (645 * 645,)} and not divide.parameters
    assert divide.flops_per_step == 10 * 645**2 and divide.bytes_per_step() == 120 * 645**2
    vectors = {kind: load(kind, None).elementwise.arrays for kind in ("divide", "copy", "fill")}
    assert vectors == {"divide": 3, "copy": 2, "fill": 1}
    large = load("divide", {"elements": 10**9})
    assert narrowed(large) == large and load("mlp", None).elementwise is None

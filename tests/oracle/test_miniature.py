"""A miniature is small, and keeps what a mistake would need to show."""

from dataclasses import replace

import numpy as np
import pytest

from frameworks.workloads import initial_weights, leaves, load
from frameworks.workloads.layers import Conv2D
from frameworks.workloads.smaller import batches, miniature
from tests.adapters.training import NETWORKS
from tests.oracle.in_process import STAGE

WORKLOADS = {**NETWORKS, **STAGE, "large": load("mnist-cnn", {"filters": [64, 128, 128]})}


@pytest.mark.parametrize("name", WORKLOADS)
def test_it_is_small_and_still_the_same_layers(name):
    workload = WORKLOADS[name]
    small = miniature(workload)
    assert [layer.kind for layer in small.layers] == [layer.kind for layer in workload.layers]
    assert (small.loss, small.optimiser) == (workload.loss, workload.optimiser)
    assert small.parameters < 2000
    assert small.dataset.kind == ("tokens" if name == "words" else "normal")
    if len(small.dataset.shape) == 3:
        assert small.dataset.shape[0] != small.dataset.shape[1]


@pytest.mark.parametrize("name", ["alexnet-s", "alexnet-r"])
def test_images_are_as_small_as_their_windows_let_them(name):
    large = load(name, None)
    small = miniature(large)
    assert small.flops_per_step < 40_000_000 < large.flops_per_step / 1000
    (flattened,) = [stage.input_shape for stage in small.stages if stage.layer.kind == "flatten"]
    assert flattened[:2] == (2, 3)


@pytest.mark.parametrize("name", WORKLOADS)
def test_convolutions_pad_as_before(name):
    both = (leaves(one.stages) for one in (WORKLOADS[name], miniature(WORKLOADS[name])))
    for large, small in zip(*both, strict=True):
        if isinstance(large.layer, Conv2D):
            assert small.layer.pads(small.input_shape) == large.layer.pads(large.input_shape)


def test_sizes_that_were_equal_are_and_others_are_not():
    shapes = miniature(load("mlp", {"hidden": [1000, 1000, 600]})).parameter_shapes
    assert shapes["dense1.kernel"][0] > shapes["dense1.kernel"][1]
    assert shapes["dense2.kernel"][0] == shapes["dense2.kernel"][1] > shapes["dense3.kernel"][1]
    assert shapes["dense4.kernel"][1] == 1


def test_flattened_images_have_an_order():
    stages = miniature(load("mnist-cnn", {})).stages
    (flattened,) = [stage.input_shape for stage in stages if stage.layer.kind == "flatten"]
    height, width, channels = flattened
    assert 1 < height < width and channels > 1


@pytest.mark.parametrize("name", ["mlp", "mnist-cnn", "lstm"])
def test_batches_fit_and_are_the_same_each_time(name):
    small = miniature(load(name, {}))
    first, again = (list(batches(small, seed=1, count=3)) for _ in range(2))
    for (inputs, targets), (inputs_again, targets_again) in zip(first, again, strict=True):
        zeros, _ = small.zeros()
        assert (inputs.shape, inputs.dtype) == (zeros.shape, zeros.dtype)
        np.testing.assert_array_equal(inputs, inputs_again)
        np.testing.assert_array_equal(targets, targets_again)
        assert targets.any()  # zeros would hide what happens to targets
    assert not np.array_equal(first[0][0], first[1][0])


def test_each_mini_batch_leaves_out_a_word():
    """An optimiser with a memory moves its row all the same, and one for sparse gradients does
    not."""
    small = miniature(load("lstm", {}))
    words = small.dataset.classes
    for number, (inputs, _) in enumerate(batches(small, seed=1, count=2 * words)):
        assert number % words not in inputs


def test_words_occur_more_than_once_and_steps_are_not_samples():
    small = miniature(load("lstm", {}))
    ((words, labels),) = batches(small, seed=1, count=1)
    assert len(np.unique(words)) < words.size and words.max() < small.layers[0].words
    assert words.shape == labels.shape == (small.batch, *small.dataset.shape)
    assert small.batch != small.dataset.shape[0]


def test_the_seed_of_weights_gives_other_numbers_than_that_of_batches():
    small = replace(miniature(STAGE["sgd"]), batch=5)
    ((inputs, _),) = batches(small, seed=1, count=1)
    kernel = initial_weights(small, 1)["dense1.kernel"]
    assert not np.isin(kernel, inputs).any()

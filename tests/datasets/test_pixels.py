"""Pixels, and what prepares a mini-batch of them."""

from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads import WorkloadError, load
from frameworks.workloads.datasets import MnistSettings, open_batches
from frameworks.workloads.datasets.batches import PIXELS
from frameworks.workloads.datasets.pixels import PADDING, as_pixels, prepare
from workflows.stages import prepare as stage

IMAGES = as_pixels(load("alexnet-r", {"samples": 20, "batch": 8}))


def test_stored_inputs_are_what_is_made_of_stored_pixels(tmp_path: Path) -> None:
    record = stage.prepare(IMAGES, tmp_path / "images", 3, MnistSettings("stand-in"))
    inputs, targets = open_batches(tmp_path / "images")
    pixels = np.load(tmp_path / "images" / PIXELS)
    assert (record.kind, record.batches) == ("pixels", 2)
    assert pixels.dtype == np.uint8 and pixels.shape == inputs.shape == (2, 8, 32, 32, 3)
    assert {0, 255} <= set(pixels.flat) and set(targets.flat) <= set(range(10))
    for number, stored in enumerate(inputs):
        made = np.empty_like(stored)
        prepare(pixels[number], number, made)
        assert np.array_equal(made, stored)
    assert not np.array_equal(inputs[0], inputs[1])


def test_an_image_is_shifted_perhaps_flipped_and_normalised() -> None:
    """Every image is found again, at one shift and one flip, with zeros where it has left."""
    pixels = np.random.default_rng(1).integers(1, 256, (40, 6, 5, 2), np.uint8)
    inputs = np.empty(pixels.shape, np.float32)
    prepare(pixels, 7, inputs)
    back = inputs * np.float32(73.9) + np.float32(127.5)
    seen = set()
    for image, found in zip(pixels, np.rint(back), strict=True):
        framed = np.pad(image, [(PADDING, PADDING), (PADDING, PADDING), (0, 0)])
        places = [
            (top, left, flipped)
            for top in range(2 * PADDING + 1)
            for left in range(2 * PADDING + 1)
            for flipped in (False, True)
            if np.array_equal(
                framed[top : top + 6, left : left + 5][:, :: -1 if flipped else 1], found
            )
        ]
        assert places
        seen.add(places[0])
    assert {flipped for _, _, flipped in seen} == {False, True} and len(seen) > 20


@pytest.mark.parametrize("name", ["mlp", "mnist-cnn", "lstm"])
def test_only_random_images_become_pixels(name: str) -> None:
    with pytest.raises(WorkloadError, match=f"{name} does not train on random images"):
        as_pixels(load(name, None))

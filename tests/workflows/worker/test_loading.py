"""Loaders deliver the stored mini-batches in their order, whoever prepares them."""

import os
import signal
import time

import numpy as np
import pytest

from frameworks.workloads import from_dict
from frameworks.workloads.datasets import MnistSettings, open_batches
from workflows.stages.prepare import prepare
from workflows.worker import loading
from workflows.worker.loading import Loader, digest

LOADERS = ["stored", "inline", "threads-1", "threads-3", "processes-1", "processes-2"]
IMAGES = from_dict(
    {
        "name": "images",
        "dataset": {"kind": "pixels", "samples": 12, "shape": [5, 4, 3]},
        "batch": 2,
        "layers": ["flatten", {"dense": 3}],
        "loss": "mean_squared_error",
        "optimiser": "sgd",
    }
)


@pytest.fixture
def place(tmp_path):
    prepare(IMAGES, tmp_path / "images", 3, MnistSettings("stand-in"))
    return tmp_path / "images"


@pytest.fixture
def loader(place):
    made = []

    def make(name, most=4):
        made.append(Loader(name, place, open_batches(place)[1], most))
        return made[-1]

    yield make
    for one in made:
        one.way.close()


def wanted(place, numbers):
    inputs, targets = open_batches(place)
    return digest((inputs[n], targets[n]) for n in numbers)


def delivered(loader, numbers):
    loader.start(numbers[0])
    for number in numbers:
        inputs, targets = loader.fetch(number)
        assert inputs.flags.c_contiguous and targets.shape == (2, 3)
    return loader.end()


@pytest.mark.parametrize("name", LOADERS)
def test_every_loader_delivers_what_is_stored(loader, place, name):
    one = loader(name)
    for numbers in ([0, 1], [2, 3, 4, 5], [5, 0, 1, 2]):  # after the last comes the first
        assert delivered(one, numbers) == wanted(place, numbers)


@pytest.mark.parametrize("name", LOADERS)
def test_something_is_prepared_beside_every_step(loader, name):
    """As in an endless training, also beside the last steps of a turn."""
    one = loader(name)
    one.start(0)
    for number in range(4):
        one.fetch(number)
        assert one.begun == number + 1 + one.ahead
    one.end()


def test_two_threads_may_finish_in_any_order(loader, place, monkeypatch):
    plain = loading.prepare

    def slow(pixels, number, inputs):
        time.sleep(0.02 * (number % 2 == 0))
        plain(pixels, number, inputs)

    monkeypatch.setattr(loading, "prepare", slow)
    assert delivered(loader("threads-2"), [0, 1, 2, 3]) == wanted(place, [0, 1, 2, 3])


def test_another_order_or_other_numbers_have_another_digest(loader, place, monkeypatch):
    right = wanted(place, [0, 1, 2])
    assert len({right, wanted(place, [1, 0, 2]), wanted(place, [0, 1])}) == 3
    one = loader("inline")
    begin = one.way.begin
    monkeypatch.setattr(one.way, "begin", lambda number, slot: begin(number ^ 1, slot))
    assert delivered(one, [0, 1, 2]) == digest(
        (open_batches(place)[0][own], open_batches(place)[1][n])
        for own, n in ((1, 0), (0, 1), (3, 2))
    ) != right  # fmt: skip
    monkeypatch.undo()
    one.start(0)
    for number in range(3):
        inputs, _ = one.fetch(number)
    inputs[0, 0, 0] = np.nextafter(inputs[0, 0, 0], np.float32(9))
    assert one.end() != right


def test_a_process_that_has_ended_is_an_error(loader):
    one = loader("processes-1")
    one.start(0)
    one.way.processes[0].kill()
    with pytest.raises((RuntimeError, BrokenPipeError)):  # as soon as it is gone
        for number in range(4):
            one.fetch(number)


def test_what_a_dead_process_was_not_told_does_not_disturb_the_end(loader):
    one = loader("processes-1")
    one.way.processes[0].kill()
    one.way.processes[0].wait()
    with pytest.raises(BrokenPipeError):
        one.start(0)
    one.way.close()


def test_processes_end_with_their_input_and_whoever_else_holds_it(loader):
    one = loader("processes-2")
    delivered(one, [0, 1])
    first, second = one.way.processes
    first.stdin.close()
    assert first.wait(10) == 0
    if not (child := os.fork()):  # as a framework does
        time.sleep(60)
        os._exit(0)
    try:
        one.way.close()
        assert second.returncode == -signal.SIGKILL
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

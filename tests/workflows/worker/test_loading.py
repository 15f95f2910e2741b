"""Loaders deliver the stored mini-batches in their order, whoever prepares them."""

import os
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import pytest

from frameworks.workloads import from_dict
from frameworks.workloads.datasets import MnistSettings, open_batches
from workflows.stages.prepare import prepare
from workflows.worker import loading
from workflows.worker.loading import Loader, Prepared, digest, new_loader

OURS = ["stored", "inline", "threads-1", "threads-3", "processes-1", "processes-2"]
LOADERS = [*OURS, "framework-2"]
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

    def make(name, offer=threads):
        made.append(new_loader(name, place, open_batches(place)[1], offer))
        return made[-1]

    yield make
    for one in made:
        if isinstance(one, Loader):
            one.close()


def threads(prepare, workers):
    """What an adapter may offer."""
    pool = ThreadPoolExecutor(workers)
    return lambda numbers: pool.map(prepare, numbers)


def wanted(place, numbers):
    inputs, targets = open_batches(place)
    return digest((inputs[n], targets[n]) for n in numbers)


def delivered(loader, numbers):
    loader.start(numbers)
    for number in numbers:
        inputs, targets = loader.fetch(number)
        assert inputs.flags.c_contiguous and targets.shape == (2, 3)
    return loader.end()


@pytest.mark.parametrize("name", LOADERS)
def test_every_loader_delivers_what_is_stored(loader, place, name):
    one = loader(name)
    # After the last comes the first; and a turn may be longer than those before it.
    for numbers in ([0, 1], [2, 3, 4, 5], [5, 0, 1, 2], [3]):
        assert delivered(one, numbers) == wanted(place, numbers)


@pytest.mark.parametrize("name", OURS)
def test_something_is_prepared_beside_every_step(loader, name):
    """As in an endless training, also beside the last steps of a turn."""
    one = loader(name)
    one.start([0, 1, 2, 3])
    for number in range(4):
        one.fetch(number)
        assert one.begun == number + 1 + one.ahead
    one.end()


def test_a_frameworks_loader_is_asked_for_more_than_a_turn_takes_and_is_waited_for(loader, place):
    asked, given = [], []

    def offer(prepare, workers):
        def deliver(numbers):
            asked.append(list(numbers))
            for number in numbers:
                given.append(number)
                yield prepare(number)

        return deliver

    one = loader("framework-2", offer)
    delivered(one, [4, 5, 0])
    assert asked == [[4, 5, 0, 1, 2, 3, 4]] and given == asked[0]
    assert not one.given  # which would keep their memory


def test_a_frameworks_loader_that_ends_early_says_so(loader):
    one = loader("framework-1", lambda prepare, workers: lambda numbers: map(prepare, numbers[:1]))
    with pytest.raises(RuntimeError, match="its loader ends after 1 mini-batches"):
        delivered(one, [0, 1])


@pytest.mark.parametrize(
    ("again", "prepared"), [([0, 1], 0), ([1, 2], 1)], ids=["the same", "some of them"]
)
def test_a_frameworks_loader_that_keeps_mini_batches_for_later_turns_says_so(
    loader, again, prepared
):
    """An augmentation differs each time, so a real training could not keep them."""
    one = loader("framework-1", lambda prepare, workers: partial(map, cache(prepare)))
    delivered(one, [0, 1])
    with pytest.raises(
        RuntimeError, match=f"prepared {prepared} mini-batches in a turn that asked"
    ):
        delivered(one, again)


def test_what_prepares_is_given_to_another_process_without_the_mini_batches(place, tmp_path):
    (tmp_path / "counted").write_bytes(bytes(8 * 6))
    own = Prepared(place, tmp_path / "counted")
    packed = pickle.dumps(own)
    assert len(packed) < 1000
    assert digest([pickle.loads(packed)(3)]) == wanted(place, [3])
    assert own.times.tolist() == [0, 0, 0, 1, 0, 0]


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
    one.start([0, 1, 2])
    begin = one.way.begin
    monkeypatch.setattr(one.way, "begin", lambda number, slot: begin(number ^ 1, slot))
    assert delivered(one, [0, 1, 2]) == digest(
        (open_batches(place)[0][own], open_batches(place)[1][n])
        for own, n in ((1, 0), (0, 1), (3, 2))
    ) != right  # fmt: skip
    monkeypatch.undo()
    one.start([0, 1, 2])
    for number in range(3):
        inputs, _ = one.fetch(number)
    inputs[0, 0, 0] = np.nextafter(inputs[0, 0, 0], np.float32(9))
    assert one.end() != right


def test_a_process_that_has_ended_is_an_error(loader):
    one = loader("processes-1")
    one.start([0, 1, 2, 3])
    one.way.processes[0].kill()
    with pytest.raises((RuntimeError, BrokenPipeError)):  # as soon as it is gone
        for number in range(4):
            one.fetch(number)


def test_what_a_dead_process_was_not_told_does_not_disturb_the_end(loader):
    one = loader("processes-1")
    delivered(one, [0, 1])
    one.way.processes[0].kill()
    one.way.processes[0].wait()
    with pytest.raises(BrokenPipeError):
        one.start([0, 1])
    one.close()


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

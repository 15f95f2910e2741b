"""A fence that does not wait for all work of a step is found, asked in this process."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from time import sleep

import numpy as np
import pytest

from workflows.certify.runs import FENCES


@pytest.fixture
def spoilt(worker, monkeypatch):
    """`spoilt(change)`: the adapter's trainers are as `change(trainer)` leaves them."""

    def spoil(change):
        plain = worker.adapter.trainer

        def made(*arguments):
            trainer = plain(*arguments)
            change(trainer)
            return trainer

        monkeypatch.setattr(worker.adapter, "trainer", made)

    return spoil


def left(worker, below, variant="default", given=False):
    """The share that is left, as a certificate asks for it: the least of a few probes unless one
    is `below` what is allowed, because other programs may disturb one."""
    least = 1.0
    for _ in range(FENCES):
        least = min(worker.fence(variant, given)["unfenced"], least)
        if least < below:
            break
    return least


@pytest.mark.quiet
@pytest.mark.parametrize("waits", [True, False])
def test_a_fence_that_does_not_wait_is_found(worker, spoilt, waits):
    """A device that works in a thread, for a time of its own, whatever the caller does."""

    def slow(trainer):
        pool, step, done = ThreadPoolExecutor(1), trainer.step, []
        loss, weights = trainer.loss, trainer.weights

        def work(batch):
            sleep(0.01)
            step(batch)

        def wait():
            for future in done:
                future.result()
            done.clear()

        trainer.step = lambda batch: done.append(pool.submit(work, batch))
        trainer.synchronise = wait if waits else lambda: None
        trainer.loss = lambda: (wait(), loss())[1]
        trainer.weights = lambda: (wait(), weights())[1]

    spoilt(slow)
    share = left(worker, 0.2 if waits else 1)
    assert share < 0.2 if waits else share > 0.8


@pytest.mark.quiet
@pytest.mark.parametrize("behind", ["nothing", "the step", "the last update"])
def test_results_that_are_copied_once_are_no_work_that_was_left(
    worker, spoilt, monkeypatch, behind
):
    """A device that works in a thread. Copying its results takes longer than a step, and they are
    kept: reading them again takes no time, as in JAX on a GPU."""

    def copied(trainer):
        pool, step, done, copies = ThreadPoolExecutor(1), trainer.step, [], {}

        def work(batch):
            copies.clear()
            sleep(0.004)
            step(batch)

        def wait():
            for future in done:
                future.result()
            done.clear()

        def submit(batch):
            if behind == "the last update":
                wait()
            done.append(pool.submit(work, batch))

        def once(name, read, takes_s):
            def reading():
                wait()
                if name not in copies:
                    sleep(takes_s)
                    copies[name] = read()
                return copies[name]

            return reading

        trainer.step = submit
        trainer.synchronise = wait if behind == "nothing" else lambda: None
        trainer.loss = once("loss", trainer.loss, 0.002)
        trainer.weights = once("weights", trainer.weights, 0.02)

    spoilt(copied)
    monkeypatch.setattr(worker, "conditions", replace(worker.conditions, device="gpu"))
    share = left(worker, 0.2 if behind == "nothing" else 1)
    assert share < 0.2 if behind == "nothing" else share > 0.5


class Kept:
    """A mini-batch that works when nobody needs it any more."""

    def __init__(self, batch):
        self.batch = batch

    def __del__(self):
        sleep(0.004)


@pytest.mark.quiet
@pytest.mark.parametrize("late", [True, False])
def test_work_that_waits_until_the_mini_batch_is_dropped_is_found(worker, spoilt, late):
    def lazy(trainer):
        put, step = trainer.put, trainer.step
        trainer.put = lambda *pair: Kept(put(*pair)) if late else put(*pair)
        trainer.step = lambda batch: (sleep(0.006), step(batch.batch if late else batch))

    spoilt(lazy)
    share = left(worker, 0.5 if late else 0.2)
    assert 0.3 < share < 0.5 if late else share < 0.2


@pytest.mark.quiet
@pytest.mark.parametrize("late", [True, False])
def test_gradients_that_are_computed_whenever_they_are_read_are_found(worker, spoilt, late):
    def lazy(trainer):
        step, gradients = trainer.step, trainer.gradients
        trainer.step = lambda batch: (sleep(0.006), step(batch))
        trainer.gradients = lambda: (sleep(0.006 * late), gradients())[1]

    spoilt(lazy)
    share = left(worker, 1 if late else 0.2, "part-gradient", given=True)
    assert share > 0.3 if late else share < 0.2


@pytest.mark.quiet
def test_a_second_reading_that_takes_longer_is_no_work_left(worker, spoilt):
    """As of large weights, whose memory the first reading still holds: not less than none."""
    taken = []

    def large(trainer):
        step, weights, times = trainer.step, trainer.weights, count(0)
        trainer.step = lambda batch: (sleep(0.006), step(batch), taken.append(batch))
        trainer.weights = lambda: (sleep(0.02 * (next(times) % 2)), weights())[1]

    spoilt(large)
    assert worker.fence("default")["unfenced"] < 0.2 and len(taken) < 100


@pytest.mark.parametrize(
    ("unread_lost", "at_random", "same"),
    [(False, False, True), (True, False, False), (False, True, None)],
)
def test_steps_that_nobody_waits_for_end_as_those_whose_loss_is_read(
    worker, spoilt, unread_lost, at_random, same
):
    """Of one that loses a step if the last one is unread, and of one that starts differently each
    time, too."""
    runs = count(1)

    def losing(trainer):
        step, loss, restart, unread = trainer.step, trainer.loss, trainer.restart, []

        def take(batch):
            if not (unread_lost and unread):
                step(batch)
            unread.append(batch)

        def begin(weights):
            factor = next(runs) if at_random else 1
            restart({name: factor * array for name, array in weights.items()})

        trainer.step, trainer.restart = take, begin
        trainer.loss = lambda: (unread.clear(), loss())[1]

    spoilt(losing)
    assert worker.unread("default", 8) == {"same": same}


@pytest.mark.quiet
@pytest.mark.parametrize("forced_by", [("loss", "weights"), ("loss",), ()])
def test_a_small_step_that_is_computed_when_it_is_read_is_found(worker, spoilt, forced_by):
    """Although a step takes no longer than reading its result."""

    def lazy(trainer):
        step, queue = trainer.step, []

        def forcing(read):
            def forced():
                while queue:
                    step(queue.pop(0))
                return read()

            return forced

        if forced_by:
            trainer.step = queue.append
        for name in forced_by:
            setattr(trainer, name, forcing(getattr(trainer, name)))

    spoilt(lazy)
    share = left(worker, 1 if forced_by else 0.2)
    assert share > 0.5 if forced_by else share < 0.2


class Late:
    """A loss that is computed when it becomes a number."""

    def __init__(self, work, loss):
        self.work, self.loss = work, loss

    def __float__(self):
        self.work()
        return self.loss()


class LateItems(dict):
    """Weights that are computed when they are looked at."""

    def items(self):
        self["work"]()
        return {"dense1.kernel": np.zeros((20, 8))}.items()


@pytest.mark.quiet
@pytest.mark.parametrize("what", ["loss", "weights"])
def test_work_that_waits_until_a_result_is_used_is_found(worker, spoilt, what):
    def lazy(trainer):
        step, loss, queue = trainer.step, trainer.loss, []

        def work():
            while queue:
                step(queue.pop(0))

        trainer.step = queue.append
        trainer.loss = (lambda: Late(work, loss)) if what == "loss" else lambda: 0.5
        trainer.weights = (lambda: LateItems(work=work)) if what == "weights" else dict

    spoilt(lazy)
    assert worker.fence("default")["unfenced"] > 0.5


@pytest.mark.quiet
@pytest.mark.parametrize("by", [("loss",), ("loss", "weights"), ()])
def test_an_update_that_waits_until_the_loss_is_read_is_found(worker, spoilt, by):
    """Of one step after the other, it delays only the next one."""

    def spin(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    def late(trainer):
        waiting = []
        compute = trainer.step

        def update():
            while waiting:
                spin(waiting.pop())

        def step(batch):
            update()
            compute(batch)
            spin(0.0012)  # the gradients
            waiting.append(0.0008)
            if not by:
                update()

        def updating(read):
            return lambda: (update(), read())[1]

        trainer.step = step
        for name in by:
            setattr(trainer, name, updating(getattr(trainer, name)))

    spoilt(late)
    share = left(worker, 0.5 if by else 0.2)
    assert 0.25 < share < 0.5 if by else share < 0.2

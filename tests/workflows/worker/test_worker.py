"""The worker, asked in this process; what only a process shows is in test_contest."""

import mmap
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from tests.conftest import python
from workflows.records.schema import Contender
from workflows.worker import training
from workflows.worker.border import explain
from workflows.worker.handlers import Handlers
from workflows.worker.process import WorkerDied, WorkerProcess

CONDITIONS = {"device": "cpu", "threads": 1, "precision": "float32", "tf32": False}


@pytest.fixture
def worker(study, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = study()
    worker = Handlers()
    worker.open("abacus", **CONDITIONS)
    worker.load(str(made.folders.data / "mlp"))
    worker.build("default")
    return worker


def test_each_turn_starts_from_the_initial_weights(worker):
    turns = [worker.turn(first=3, count=4, rebuild=rebuild) for rebuild in (True, False, True)]
    assert turns[0]["loss"] == turns[1]["loss"] == turns[2]["loss"]
    assert turns[0]["batch"] == [3, 4, 5, 6]
    assert turns[2]["step"] == [8, 9, 10, 11]


def test_without_a_word_on_rebuilding_training_goes_on(worker):
    first = worker.turn(first=0, count=4, rebuild=None)["loss"]
    again = worker.turn(first=0, count=4, rebuild=None)["loss"]
    assert first != again


def test_mini_batches_begin_again_after_the_last(worker):
    last = len(worker.turns.inputs) - 1
    assert worker.turn(first=last, count=2, rebuild=True)["batch"] == [last, 0]


def test_page_faults_and_peak_memory_are_those_of_the_turn(worker, monkeypatch):
    def touch():
        with mmap.mmap(-1, 2000 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for place in range(0, len(memory), mmap.PAGESIZE):
                memory[place] = 1

    before = worker.turn(first=0, count=3, rebuild=None)
    step = worker.trainer.step
    with monkeypatch.context() as patch:
        patch.setattr(worker.trainer, "step", lambda batch: (touch(), step(batch)))
        touching = worker.turn(first=0, count=3, rebuild=None)
    after = worker.turn(first=0, count=3, rebuild=None)
    assert min(touching["minor_faults"]) >= 2000 > max(after["minor_faults"])
    assert touching["major_faults"] == [0, 0, 0]
    pages = 2000 * mmap.PAGESIZE / 2**20
    for other in (before, after):  # the peak of one turn is forgotten in the next
        assert touching["peak_mib"] - other["peak_mib"] == pytest.approx(pages, rel=0.3)


def test_the_parts_of_a_mini_batch_are_fenced(worker, monkeypatch):
    """Work that a device still does when a call has returned belongs to that call's part."""
    calls = []
    trainer = worker.trainer

    def recorded(name):
        method = getattr(trainer, name)
        return lambda *arguments: (calls.append(name), method(*arguments))[1]

    for name in ("put", "step", "synchronise", "loss"):
        monkeypatch.setattr(trainer, name, recorded(name))
    worker.turn(first=0, count=1, rebuild=None)
    assert calls == ["synchronise", "put", "synchronise", "step", "synchronise", "loss"]


@pytest.mark.quiet
def test_a_slow_device_is_waited_for(worker, monkeypatch):
    """A step that returns at once and finishes in `synchronise` counts in full."""
    queue = []
    monkeypatch.setattr(worker.trainer, "step", lambda batch: queue.append(0.02))
    monkeypatch.setattr(worker.trainer, "loss", lambda: 0.0)
    monkeypatch.setattr(worker.trainer, "synchronise", lambda: sleep(queue.pop() if queue else 0))
    rows = worker.turn(first=0, count=2, rebuild=None)
    assert min(rows["step_ns"]) >= 20e6
    assert max(rows["transfer_ns"]) < 20e6


@pytest.mark.parametrize("slowed_by", [0.0, 0.1, 2.0])
def test_a_handicap_lengthens_transfer_and_step_by_its_share(worker, monkeypatch, slowed_by):
    """By a clock of the test's own, as a busy machine's says little: 100 ns each time it is
    read, 4 ms for a transfer, 6 ms for the first step, 7 for the second."""
    now = [0]

    def passed(ns):
        now[0] += ns
        return now[0]

    steps = iter([6_000_000, 7_000_000])
    monkeypatch.setattr("workflows.worker.clock.now", lambda: passed(100))
    monkeypatch.setattr(worker.trainer, "put", lambda *arrays: passed(4_000_000))
    monkeypatch.setattr(worker.trainer, "step", lambda batch: passed(next(steps)))
    monkeypatch.setattr(worker.trainer, "loss", lambda: 0.0)
    rows = worker.turn(first=0, count=2, rebuild=None, slowed_by=slowed_by)
    assert rows["transfer_ns"] == [4_000_100, 4_000_100]
    assert rows["start_ns"][1] - rows["start_ns"][0] < 10_002_000  # no wait between the steps
    for transfer, step, own in zip(rows["transfer_ns"], rows["step_ns"], (6, 7), strict=True):
        wanted = (1 + slowed_by) * (transfer + own * 1_000_000 + 100)
        assert abs(transfer + step - wanted) < 200  # the clock is read until the end has passed


def test_a_handicap_computes_the_same(worker):
    plain = worker.turn(first=0, count=4, rebuild=True)["loss"]
    slowed = worker.turn(first=0, count=4, rebuild=True, slowed_by=0.5)
    assert slowed["loss"] == plain
    assert slowed["step"] == [0, 1, 2, 3]  # it counts its own
    assert worker.turn(first=0, count=4, rebuild=True)["step"] == [4, 5, 6, 7]


def test_a_trace_leaves_losses_and_weights_by_step(worker, tmp_path):
    def traced(**more):
        return worker.train("default", steps=5, out=str(tmp_path / "w.npz"), at=[0, 2, 5], **more)

    losses = traced()["losses"]
    with np.load(tmp_path / "w.npz") as file:
        weights = training.read(file)
    sgd = traced(optimiser={"sgd": {"learning_rate": 0.5}})["losses"]
    assert losses[0] == sgd[0] and losses[1:] != sgd[1:]
    assert list(weights) == [0, 2, 5]
    assert set(weights[5]) == set(worker.workload.parameter_shapes)
    assert all(np.array_equal(w, worker.initial[name]) for name, w in weights[0].items())
    assert traced(restart=3)["again"] == losses[:3]


def test_gradients_are_those_of_the_loss(worker, tmp_path):
    worker.gradients("default", str(tmp_path / "g.npz"), {"sgd": {"learning_rate": 2.0**19}})
    with np.load(tmp_path / "g.npz") as file:
        bias = float(file["dense2.bias"][0])
    inputs, targets = worker.mini_batch(0)
    w = worker.initial
    hidden = np.maximum(inputs @ w["dense1.kernel"] + w["dense1.bias"], 0)
    outputs = hidden @ w["dense2.kernel"] + w["dense2.bias"]
    assert bias == pytest.approx(2 * float(np.mean(outputs - targets)), rel=1e-5)


def test_arrays_are_useless_once_put_has_returned(worker, monkeypatch, tmp_path):
    plain = worker.adapter.trainer
    monkeypatch.setattr(worker.adapter, "trainer", lambda *given: Keeper(plain(*given)))
    losses = worker.train("default", steps=2, out=str(tmp_path / "w.npz"), at=[2])["losses"]
    assert np.isnan(losses[0])


class Keeper:
    """A trainer that keeps the caller's arrays instead of copying them."""

    def __init__(self, trainer):
        self.trainer = trainer

    def __getattr__(self, name):
        return getattr(self.trainer, name)

    def put(self, inputs, targets):
        return inputs, targets


@pytest.mark.quiet
@pytest.mark.parametrize("waits", [True, False])
def test_a_fence_that_does_not_wait_is_found(worker, monkeypatch, waits):
    """A device that works in a thread, for a time of its own, whatever the caller does."""
    plain = worker.adapter.trainer

    def slow(*arguments):
        trainer = plain(*arguments)
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
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", slow)
    share = worker.fence("default")["unfenced"]
    assert share < 0.2 if waits else share > 0.8


class Kept:
    """A mini-batch that works when nobody needs it any more."""

    def __init__(self, batch):
        self.batch = batch

    def __del__(self):
        sleep(0.004)


@pytest.mark.quiet
@pytest.mark.parametrize("late", [True, False])
def test_work_that_waits_until_the_mini_batch_is_dropped_is_found(worker, monkeypatch, late):
    plain = worker.adapter.trainer

    def lazy(*arguments):
        trainer = plain(*arguments)
        put, step = trainer.put, trainer.step
        trainer.put = lambda *pair: Kept(put(*pair)) if late else put(*pair)
        trainer.step = lambda batch: (sleep(0.006), step(batch.batch if late else batch))
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", lazy)
    share = worker.fence("default")["unfenced"]
    assert 0.3 < share < 0.5 if late else share < 0.2


@pytest.mark.quiet
@pytest.mark.parametrize("late", [True, False])
def test_gradients_that_are_computed_whenever_they_are_read_are_found(worker, monkeypatch, late):
    plain = worker.adapter.trainer

    def lazy(*arguments):
        trainer = plain(*arguments)
        step, gradients = trainer.step, trainer.gradients
        trainer.step = lambda batch: (sleep(0.006), step(batch))
        trainer.gradients = lambda: (sleep(0.006 * late), gradients())[1]
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", lazy)
    share = worker.fence("part-gradient", given=True)["unfenced"]
    assert share > 0.3 if late else share < 0.2


@pytest.mark.quiet
def test_a_second_reading_that_takes_longer_is_no_work_left(worker, monkeypatch):
    """As of large weights, whose memory the first reading still holds: not less than none."""
    plain, taken = worker.adapter.trainer, []

    def large(*arguments):
        trainer = plain(*arguments)
        step, weights, times = trainer.step, trainer.weights, count(0)
        trainer.step = lambda batch: (sleep(0.006), step(batch), taken.append(batch))
        trainer.weights = lambda: (sleep(0.02 * (next(times) % 2)), weights())[1]
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", large)
    assert worker.fence("default")["unfenced"] < 0.2 and len(taken) < 100


@pytest.mark.parametrize(
    ("unread_lost", "at_random", "same"),
    [(False, False, True), (True, False, False), (False, True, None)],
)
def test_steps_that_nobody_waits_for_end_as_those_whose_loss_is_read(
    worker, monkeypatch, unread_lost, at_random, same
):
    """Of one that loses a step if the last one is unread, and of one that starts differently each
    time, too."""
    plain, runs = worker.adapter.trainer, count(1)

    def losing(*arguments):
        trainer = plain(*arguments)
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
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", losing)
    assert worker.unread("default", 8) == {"same": same}


@pytest.mark.quiet
@pytest.mark.parametrize("forced_by", [("loss", "weights"), ("loss",), ()])
def test_a_small_step_that_is_computed_when_it_is_read_is_found(worker, monkeypatch, forced_by):
    """Although a step takes no longer than reading its result."""
    plain = worker.adapter.trainer

    def lazy(*arguments):
        trainer = plain(*arguments)
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
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", lazy)
    share = worker.fence("default")["unfenced"]
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
def test_work_that_waits_until_a_result_is_used_is_found(worker, monkeypatch, what):
    plain = worker.adapter.trainer

    def lazy(*arguments):
        trainer = plain(*arguments)
        step, loss, queue = trainer.step, trainer.loss, []

        def work():
            while queue:
                step(queue.pop(0))

        trainer.step = queue.append
        trainer.loss = (lambda: Late(work, loss)) if what == "loss" else lambda: 0.5
        trainer.weights = (lambda: LateItems(work=work)) if what == "weights" else dict
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", lazy)
    assert worker.fence("default")["unfenced"] > 0.5


def test_the_reason_of_an_end_stays_the_reason(study):
    """Though the process is killed for it, and is asked for more."""
    contender = Contender(framework="abacus", variant="default", device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as process:
        assert process.ended_for("no answer within 3 s").reason == "no answer within 3 s"
        with pytest.raises(WorkerDied, match="no answer within 3 s"):
            process.ask("pin", cores=[])


@pytest.mark.quiet
@pytest.mark.parametrize("by", [("loss",), ("loss", "weights"), ()])
def test_an_update_that_waits_until_the_loss_is_read_is_found(worker, monkeypatch, by):
    """Of one step after the other, it delays only the next one."""
    plain = worker.adapter.trainer

    def spin(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    def late(*arguments):
        trainer, waiting = plain(*arguments), []
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
        return trainer

    monkeypatch.setattr(worker.adapter, "trainer", late)
    share = worker.fence("default")["unfenced"]
    assert 0.3 < share < 0.5 if by else share < 0.2


def test_work_that_is_done_off_the_clock_is_counted(worker, monkeypatch):
    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    plain = worker.turn(first=0, count=4, rebuild=False)["outside_s"]
    loss = worker.trainer.loss
    monkeypatch.setattr(worker.trainer, "loss", lambda: (busy(0.02), loss())[1])
    assert worker.turn(first=0, count=4, rebuild=False)["outside_s"] >= 0.08 > plain
    monkeypatch.undo()
    worker.asleep.begin()
    busy(0.1)  # as a thread would while the worker waits for its next request
    worker.asleep.end()
    assert worker.turn(first=0, count=4, rebuild=False)["outside_s"] >= 0.1
    assert worker.turn(first=0, count=4, rebuild=False)["outside_s"] < 0.08


def test_settings_that_lack_something_are_an_error(worker, monkeypatch):
    whole = worker.settings()["settings"]
    monkeypatch.setattr(worker.trainer, "settings", lambda: {"precision": whole["precision"]})
    with pytest.raises(ValueError, match=r"lacks intra_threads, .*, mode, .*frameworks/contract"):
        worker.settings()


def test_probing_leaves_the_trainer_alone(worker):
    before = worker.turn(first=0, count=4, rebuild=None)["loss"]
    worker.build("default")
    worker.behaviour("default")
    assert worker.turn(first=0, count=4, rebuild=None)["loss"] == before


def test_threads_that_only_wait_for_a_gpu_do_not_count(worker):
    found = worker.behaviour("default")["settings"]["computing_threads"]
    assert found == "n/a" or int(found) >= 1  # this process's own, however many it was given
    worker.conditions = replace(worker.conditions, device="gpu")
    assert worker.behaviour("default")["settings"]["computing_threads"] == "n/a"


def test_a_worker_ends_at_once_and_leaves_all_that_was_printed():
    """Frameworks register much that is to be done at exit."""
    program = """
import atexit, ctypes, time
from workflows.worker.handlers import Handlers
from workflows.worker.process import WorkerProcess
from workflows.worker.worker import main

class Talkative(Handlers):
    def talk(self):
        atexit.register(time.sleep, 60)
        print("printed", end="")
        ctypes.CDLL(None).printf(b" in C")
        return {}

main(Talkative())
"""
    done = python("-c", program, input='{"do": "talk"}\n', timeout=30)
    assert (done.returncode, done.stderr) == (0, "printed in C")
    assert done.stdout == '{"number": 0, "answer": {}}\n'


def test_temporary_files_go_with_the_process():
    contender = Contender(framework="noop", variant="default", device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as process:
        process.ask("open", framework="noop", **CONDITIONS)
        scratch = Path(process.scratch.name)
        (scratch / "left by a framework").touch()
        seen = Path(f"/proc/{process.process.pid}/environ").read_text()
    assert f"TMPDIR={scratch}\0" in seen
    assert not scratch.exists()


def test_reasons_fit_on_a_line():
    assert explain(ValueError("a\n  b")) == "ValueError: a b"
    assert explain(MemoryError()).startswith("out of memory")
    assert len(explain(ValueError("x" * 5000))) < 450

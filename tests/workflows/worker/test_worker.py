"""The worker, asked in this process; what only a process shows is in test_process."""

import mmap
import time
from dataclasses import replace
from time import sleep
from types import SimpleNamespace

import numpy as np
import pytest

from tests.workflows.worker.conftest import CONDITIONS
from workflows.worker import training
from workflows.worker.clock import LARGE, Turns
from workflows.worker.handlers import Handlers, resident_mib


def test_each_turn_starts_from_the_initial_weights(worker):
    turns = [worker.turn(first=3, count=4, rebuild=rebuild) for rebuild in (True, False, True)]
    assert turns[0]["loss"] == turns[1]["loss"] == turns[2]["loss"]
    assert turns[0]["batch"] == [3, 4, 5, 6]
    assert turns[2]["step"] == [8, 9, 10, 11]


def test_of_an_embedding_only_words_are_sampled_that_the_turn_has(worker, monkeypatch):
    """Others stay as they are, so that a frozen table would look right."""
    table = np.arange(5000.0 * 8).reshape(5000, 8)
    words = np.array([[3, 4999], [3, 17]])
    found = training.sample({"embedding1.table": table, "lstm1.kernel": table}, words)
    rows = np.array(found["embedding1.table"]) // 8
    assert {*rows} == {3, 17, 4999} and len({*found["embedding1.table"]}) > 10
    assert len({*(np.array(found["lstm1.kernel"]) // 8)}) > 50

    given = []
    monkeypatch.setattr(training, "sample", lambda weights, inputs: given.append(inputs) or {})
    worker.turn(first=3, count=2, rebuild=True)
    worker.weights()
    worker.train_turns("default", [[0, 1], [3, 2]], read=1)
    assert len(given) == 4  # read twice after the turn; before and after the other
    for inputs in given:
        assert np.array_equal(inputs, worker.turns.inputs[4])  # of the last step


def test_weights_that_are_computed_when_they_are_read_take_longer(worker, monkeypatch):
    worker.turn(first=3, count=2, rebuild=True)
    weights, left = worker.trainer.weights, [0.3]
    monkeypatch.setattr(
        worker.trainer, "weights", lambda: (sleep(left.pop() if left else 0), weights())[1]
    )
    assert worker.weights()["late_s"] > 0.2


def test_without_a_word_on_rebuilding_training_goes_on(worker):
    first = worker.turn(first=0, count=4, rebuild=None)["loss"]
    again = worker.turn(first=0, count=4, rebuild=None)["loss"]
    assert first != again


def test_of_losses_that_nobody_reads_the_last_one_of_a_turn_is_read(worker, monkeypatch):
    whole = worker.turn(first=3, count=4, rebuild=True)["loss"]
    variant = replace(worker.description.variants["default"], pitfall="nothing read", unread=True)
    monkeypatch.setattr(worker, "description", SimpleNamespace(variants={"default": variant}))
    for _ in range(2):  # the first turn, which is warm-up, and later ones
        losses = worker.turn(first=3, count=4, rebuild=True)["loss"]
        assert np.isnan(losses[:3]).all() and losses[3] == whole[3]


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


@pytest.mark.parametrize("parts", [2, 4])
def test_the_mean_of_the_gradients_of_parts_is_that_of_the_whole(worker, tmp_path, parts):
    given, sgd = [], {"sgd": {"learning_rate": 2.0**19}}
    new_trainer = worker.new_trainer
    worker.new_trainer = lambda *own: (given.append(own[0].batch), new_trainer(*own))[1]
    worker.gradients("default", str(tmp_path / "whole.npz"), sgd)
    worker.gradients_of_parts("default", str(tmp_path / "parts.npz"), sgd, parts)
    assert given == [4, *[4 // parts] * parts]
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "parts.npz") as mean:
        assert {*whole} == {*mean}
        for name in whole:
            np.testing.assert_allclose(mean[name], whole[name], rtol=1e-4, atol=1e-7)


def test_gradients_are_those_of_the_loss(worker, tmp_path):
    worker.gradients("default", str(tmp_path / "g.npz"), {"sgd": {"learning_rate": 2.0**19}})
    with np.load(tmp_path / "g.npz") as file:
        bias = float(file["dense2.bias"][0])
    inputs, targets = worker.mini_batch(0)
    w = worker.initial
    hidden = np.maximum(inputs @ w["dense1.kernel"] + w["dense1.bias"], 0)
    outputs = hidden @ w["dense2.kernel"] + w["dense2.bias"]
    assert bias == pytest.approx(2 * float(np.mean(outputs - targets)), rel=1e-5)


def test_put_must_not_change_the_arrays_that_it_is_given(worker, monkeypatch, tmp_path):
    """As the rule `batch` of samestep check has it."""

    def wiping(trainer):
        put = trainer.put

        def changed(inputs, targets):
            given = put(inputs.copy(), targets.copy())
            inputs[:] = 0
            return given

        trainer.put = changed
        return trainer

    plain = worker.adapter.trainer
    monkeypatch.setattr(worker.adapter, "trainer", lambda *given: wiping(plain(*given)))
    with pytest.raises(Exception, match=r"put\(\) has changed the arrays that it was given"):
        worker.train("default", steps=2, out=str(tmp_path / "w.npz"), at=[2])


def test_arrays_are_useless_once_put_has_returned(worker, monkeypatch, tmp_path):
    plain = worker.adapter.trainer
    monkeypatch.setattr(worker.adapter, "trainer", lambda *given: Keeper(plain(*given)))
    losses = worker.train("default", steps=2, out=str(tmp_path / "w.npz"), at=[2])["losses"]
    assert np.isnan(losses[0])


@pytest.mark.parametrize(("warm", "copied", "right"), [(False, 1, 1), (True, 1, 2), (True, 0, 0)])
def test_arrays_are_useless_in_turns_too(worker, warm, copied, right):
    """All of the warm-up, and the first of each later turn, so that copying in certificates alone
    is found."""
    if warm:
        worker.turn(first=0, count=2, rebuild=None)
    worker.trainer = Keeper(worker.trainer, copied)
    losses = worker.turn(first=0, count=2, rebuild=False)["loss"]
    assert np.isfinite(losses).sum() == right


class Keeper:
    """A trainer that keeps the caller's arrays instead of copying them, but for the first ones."""

    def __init__(self, trainer, copied=0):
        self.trainer, self.copied = trainer, copied

    def __getattr__(self, name):
        return getattr(self.trainer, name)

    def put(self, inputs, targets):
        self.copied -= 1
        return self.trainer.put(inputs, targets) if self.copied >= 0 else (inputs, targets)


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


class Seeing:
    """A trainer that notes the first number that it is given."""

    def __init__(self):
        self.seen = []

    def put(self, inputs, targets):
        self.seen.append(float(inputs.flat[0] + targets.flat[-1]))

    def step(self, batch):
        pass

    def synchronise(self):
        pass

    def loss(self):
        return 0.0


@pytest.mark.parametrize(("numbers", "large"), [(LARGE // 4, False), (LARGE // 2, True)])
def test_arrays_of_large_mini_batches_take_memory_during_their_turns_alone(numbers, large):
    column = np.broadcast_to(np.float32(2), (1, 1, numbers))
    turns, trainer = Turns(column, column), Seeing()
    before, arrays = resident_mib(), None if large else turns.host_inputs
    for first in (0, 2):
        turns.turn(trainer, first, 2)
    assert trainer.seen == [4.0] * 4
    if large:
        assert resident_mib() - before < numbers / 2**18 / 2  # of two arrays
    else:
        assert turns.host_inputs is arrays


def test_results_that_nothing_has_been_written_to_take_no_memory(study):
    """Those of single operations: each process has one of each size."""
    made = study(
        workloads={
            "mlp": False,
            "mnist-cnn": False,
            "divide": {"elements": LARGE // 4, "samples": 1},
        }
    )
    worker = Handlers()
    worker.open("abacus", **CONDITIONS)
    before = resident_mib()
    worker.load(str(made.folders.data / "divide"))
    assert resident_mib() - before < LARGE / 2**20 / 2
    (result,) = worker.initial.values()
    assert result.shape == (LARGE // 4,) and not result.any()

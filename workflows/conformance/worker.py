"""The worker of conformance: each request tries one thing and answers with what came of it.

The rules judge the answers in another process.
"""

import gc
import time
from collections.abc import Sequence
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.contract import Adapter, Trainer, Unavailable
from frameworks.workloads import Weights, Workload, from_dict, initial_weights
from frameworks.workloads.distance import relative
from frameworks.workloads.smaller import batches
from workflows.worker.border import as_loss, as_weights
from workflows.worker.clock import fenced, left_over, longest_ns, now, read_by
from workflows.worker.handlers import Handlers
from workflows.worker.probes.asking import aligned
from workflows.worker.recorded_run import SEED
from workflows.worker.training import Batch, different
from workflows.worker.worker import main

STEPS = 5
REPEATS = 3  # of a timed trial
# Turns of a loader, each from the middle of the mini-batches and beyond their end; the last one
# begins where the first one did.
LOADED = ([5, 6, 7, 0, 1, 2, 3, 4], [2, 3, 4, 5, 6, 7, 0], [5, 6, 7, 0, 1, 2, 3, 4])
PREPARING_S, RESTING_S = 0.03, 0.3  # of a mini-batch; for workers to go as far ahead as they do


class Requests(Handlers):
    """One method for each request, as in `Handlers`. Workloads come as dictionaries."""

    busy: tuple[Trainer, Any]

    def made(self, workload: Workload, variant: str, seed: int = SEED) -> Trainer:
        return self.new_trainer(workload, initial_weights(workload, seed), variant)

    def accepts(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Why the adapter refuses to build this, "" if it does not."""
        try:
            # A contest, too, synchronises before it puts anything.
            self.made(from_dict(workload), variant).synchronise()
        except (Unavailable, NotImplementedError) as refusal:
            return {"refused": str(refusal) or f"{type(refusal).__name__} without a message"}
        return {"refused": ""}

    def trained(self, workload: dict[str, Any], variant: str, script: str, out: str) -> Any:
        """Train what was accepted before; a refusal now comes too late."""
        try:
            return self.record_run(workload, variant, script, out)
        except Exception as error:
            late = error.__cause__
            if isinstance(late, Unavailable | NotImplementedError):
                return {"late": f"{type(late).__name__}: {late}"}
            raise

    def unknown(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """What the adapter raises for an unknown variant, "" if it raises nothing."""
        try:
            self.made(from_dict(workload), variant)
        except Exception as error:
            return {"raised": f"{type(error).__name__}: {error}"}
        return {"raised": ""}

    def weigh(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Compare the weights that the trainer returns with the weights it was given."""
        asked = from_dict(workload)
        given = initial_weights(asked, SEED)
        wanted = {name: array.astype(self.conditions.precision) for name, array in given.items()}
        trainer = self.new_trainer(asked, given, variant)
        first = as_weights(trainer.weights(), given)
        wrong = uncanonical(first, wanted)
        if not wrong:
            kept = {name: array.copy() for name, array in first.items()}
            given_before = {name: array.copy() for name, array in given.items()}
            losses(trainer, drawn(asked, 2))
            if name := different(first, kept):
                wrong.append(f"{name}, once given away by weights(), changes as training goes on")
            if name := different(given, given_before):
                wrong.append(f"training changes {name} in the caller's own arrays")
            for array in (given := trainer.weights()).values():
                array.flags.writeable = True
                array.fill(np.nan)
            if any(not np.isfinite(array).all() for array in trainer.weights().values()):
                wrong.append("what is written into an array of weights() changes the network")
            trainer.restart(given_before)
            wrong += [f"after restart() {w}" for w in uncanonical(trainer.weights(), wanted)]
        return {"wrong": wrong, "numbers": sum(array.size for array in wanted.values())}

    def overwrite(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """The loss of a mini-batch, and its loss if the caller overwrites its arrays after `put`.

        `wrote` names the method that wrote into the caller's arrays, "" if none did.
        """
        asked = from_dict(workload)
        (batch,) = drawn(asked, 1)
        alone = losses(self.made(asked, variant), [batch])[0]
        inputs, targets = (aligned(array) for array in batch)
        trainer, wrote = self.made(asked, variant), ""
        put = trainer.put(inputs, targets)
        trainer.synchronise()
        if not (np.array_equal(inputs, batch[0]) and np.array_equal(targets, batch[1])):
            wrote = "put"
        inputs.fill(3)
        targets.fill(0)
        trainer.step(put)
        trainer.synchronise()
        if not ((inputs == 3).all() and (targets == 0).all()):
            wrote = wrote or "step"
        return {"alone": alone, "overwritten": as_loss(trainer.loss()), "wrote": wrote}

    def repeat(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """The losses of a trainer, of another from the same weights, and of the first restarted.

        `odd` is the tensor that is farthest from the first run's at the end, and how far, by run.
        """
        asked = from_dict(workload)
        given, mini_batches = initial_weights(asked, SEED), drawn(asked, STEPS)
        first = self.made(asked, variant)
        first.restart(given)  # before any step, too
        runs: dict[str, Any] = {"first": losses(first, mini_batches)}
        trained = {name: array.copy() for name, array in first.weights().items()}
        second = self.made(asked, variant)  # only now: trainers side by side are another rule's
        runs["second"] = losses(second, mini_batches)
        odd = {"second": farthest(second.weights(), trained)}
        first.restart(given)
        runs["restarted"] = losses(first, mini_batches)
        odd["restarted"] = farthest(first.weights(), trained)
        return {**runs, "odd": odd}

    def interleave(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """The losses of two trainers that train one after the other, and in turns."""
        asked = from_dict(workload)
        mini_batches, seeds = drawn(asked, STEPS), (SEED, SEED + 1)
        alone = [losses(self.made(asked, variant, seed), mini_batches) for seed in seeds]
        pair = [self.made(asked, variant, seed) for seed in seeds]
        together: list[list[float]] = [[], []]
        for batch in mini_batches:
            for trainer, found in zip(pair, together, strict=True):
                found += losses(trainer, [batch])
        return {"alone": alone, "together": together}

    def precise(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """The types of the weights, and whether training left a number that float32 rounds."""
        trainer = self.made(asked := from_dict(workload), variant)
        losses(trainer, drawn(asked, 2))
        found = trainer.weights()
        return {
            "types": sorted({str(array.dtype) for array in found.values()}),
            "finer": any((array.astype(np.float32) != array).any() for array in found.values()),
        }

    def answer(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """The types of the settings, what some of them say, and whether asking changed training."""
        asked = from_dict(workload)
        mini_batches = drawn(asked, 2)
        plain = losses(self.made(asked, variant), mini_batches)
        self.trainer = self.made(asked, variant)
        disturbed = losses(self.trainer, mini_batches[:1])
        answer = self.settings()
        found = answer["settings"]
        disturbed += losses(self.trainer, mini_batches[1:])
        kinds = {name: type(value).__name__ for name, value in found.items()}
        said = {name: found.get(name) for name in ("device", "precision", "intra_threads")}
        values = {"values": found, "stated": answer["stated"]}
        return {"kinds": kinds, "same": disturbed == plain, **values, **said}

    def wait(self, workload: dict[str, Any], variant: str, times: int) -> dict[str, Any]:
        """Nanoseconds of one step and of `times` steps with their fences, the quickest of several
        repeats, and the share of work that was left over."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        given, readers = cycle(drawn(asked, 1)), read_by(trainer)
        fenced(trainer, given, 1, readers)  # which may compile

        def least(count: int) -> int:
            return min(fenced(trainer, given, count, readers)[0] for _ in range(REPEATS))

        copied_ns = None if self.conditions.on_host else longest_ns(trainer, given, readers)
        share, _ = left_over(trainer, given, [times], readers, copied_ns)
        return {"one": least(1), "many": least(times), "share": share}

    def leave(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Median nanoseconds in `step`, and in the `synchronise` that follows."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        batch = trainer.put(*drawn(asked, 1)[0])
        taken = []
        for _ in range(REPEATS + 1):
            trainer.synchronise()
            begin = now()
            trainer.step(batch)
            returned = now()
            trainer.synchronise()
            taken.append((returned - begin, now() - returned))
        step_ns, wait_ns = np.median(taken[1:], axis=0)  # the first may compile
        return {"step_ns": float(step_ns), "wait_ns": float(wait_ns)}

    def labour(self, workload: dict[str, Any], variant: str, seconds: float) -> dict[str, Any]:
        """Train one network for this long; 0 seconds build it and take one step."""
        if not seconds:
            trainer = self.made(asked := from_dict(workload), variant)
            self.busy = trainer, trainer.put(*drawn(asked, 1)[0])
        trainer, batch = self.busy
        begin, steps = now(), 0
        while not steps or now() - begin < seconds * 1e9:
            trainer.step(batch)
            trainer.synchronise()
            steps += 1
        return {"wall_s": (now() - begin) / 1e9, "steps": steps}

    def drop(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Build a trainer, train it, and drop it."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        losses(trainer, drawn(asked, 1) * 2)
        del trainer
        gc.collect()
        return {}

    def deliver(
        self, workload: dict[str, Any], variant: str, workers: int, notes: str
    ) -> dict[str, Any]:
        """Turns of the adapter's own loader: what is wrong with the mini-batches, how many were
        asked for and how many were prepared, how many of them beyond the first before a second was
        asked for, and how many at once. No turns if it offers none."""
        if type(self.adapter).loader is Adapter.loader:
            return {"turns": []}
        batches = drawn(from_dict(workload), 1 + max(LOADED[0]))
        prepare = Preparation(batches, Path(notes))
        own, turns = self.adapter.loader(prepare, workers), []
        for numbers in LOADED:
            prepare.notes.write_bytes(b"")
            rest = own(numbers)
            given = list(islice(rest, 1))
            time.sleep(RESTING_S)
            ahead = prepare.notes.read_bytes().count(BEGUN) - 1
            given += rest
            noted = prepare.notes.read_bytes()
            at_once = max(accumulate(1 if one == BEGUN[0] else -1 for one in noted), default=0)
            turns.append(
                {
                    "wrong": misdelivered(given, [batches[number] for number in numbers]),
                    "asked": len(numbers),
                    "prepared": noted.count(BEGUN),
                    "ahead": ahead,
                    "at_once": at_once,
                }
            )
        return {"turns": turns}


BEGUN, DONE = b"+", b"-"


class Preparation:
    """Prepares mini-batches slowly, and notes when it begins and when it is done. In a file,
    because it may do so in other processes."""

    def __init__(self, batches: Sequence[Batch], notes: Path) -> None:
        self.batches, self.notes = batches, notes

    def __call__(self, number: int) -> Batch:
        self.note(BEGUN)
        time.sleep(PREPARING_S)
        self.note(DONE)
        inputs, targets = self.batches[number]
        return inputs.copy(), targets.copy()

    def note(self, what: bytes) -> None:
        with self.notes.open("ab") as file:
            file.write(what)


def misdelivered(given: Sequence[Any], wanted: Sequence[Batch]) -> str:
    """The first mini-batch of a loader that is not as wanted, "" if there is none."""
    for place, (pair, batch) in enumerate(zip(given, wanted, strict=False), 1):
        for name, array, right in zip(("inputs", "targets"), pair, batch, strict=False):
            if not isinstance(array, np.ndarray):
                return f"{name} of mini-batch {place} are {type(array).__name__}, no NumPy array"
            if array.dtype != right.dtype or not np.array_equal(array, right):
                return f"{name} of mini-batch {place} are not those that were prepared"
    if len(given) != len(wanted):
        return f"{len(given)} mini-batches, {len(wanted)} were asked for"
    return ""


def drawn(workload: Workload, count: int) -> list[Batch]:
    return list(batches(workload, SEED, count))


def losses(trainer: Trainer, mini_batches: list[Batch]) -> list[float]:
    """The loss of each step. Raises ValueError for one that is not finite: it differs from itself,
    so that rules about something else would be broken."""
    found: list[float] = []
    for batch in mini_batches:
        put = trainer.put(*(array.copy() for array in batch))
        trainer.synchronise()
        trainer.step(put)
        trainer.synchronise()
        found.append(as_loss(trainer.loss()))
        if not np.isfinite(found[-1]):
            raise ValueError(f"loss() gave {found[-1]} at step {len(found)} of a small network")
    return found


def farthest(weights: Weights, others: Weights) -> tuple[str, float]:
    """The tensor that differs most, and its relative distance (L2); NaN equals NaN."""
    same = {n: np.array_equal(weights[n], w, equal_nan=True) for n, w in others.items()}
    found = {n: 0.0 if same[n] else relative(weights[n], w) for n, w in others.items()}
    name = max(found, key=lambda one: found[one])
    return name, found[name]


def uncanonical(found: Weights, wanted: Weights) -> list[str]:
    """How weights differ from the wanted ones: in name, shape, type or bits."""
    wrong = [f"{name} is not there" for name in wanted if name not in found]
    wrong += [
        f"{name} is not one of the workload's weights" for name in found if name not in wanted
    ]
    for name in wanted.keys() & found.keys():
        own, asked = found[name], wanted[name]
        if own.shape != asked.shape:
            wrong.append(f"{name} comes back as {own.shape}, canonical is {asked.shape}")
        elif own.dtype != asked.dtype:
            wrong.append(f"{name} comes back as {own.dtype}, {asked.dtype} was asked for")
        elif own.tobytes() != asked.tobytes():
            wrong.append(f"{name} comes back with other numbers ({(own != asked).mean():.0%})")
    return wrong


if __name__ == "__main__":
    main(Requests())

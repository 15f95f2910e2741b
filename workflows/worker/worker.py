"""The worker: one contender in one process. The only clock of the study is here.

Run by the coordinator under the framework's interpreter; needs NumPy and the framework.
Reads requests as JSON lines from standard input and answers each with one line.
"""

import contextlib
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

from frameworks.contract import SETTINGS, Conditions, Trainer, Unavailable
from frameworks.registry import adapter_class, framework, versions
from workflows.worker.handlers import Handlers

FENCED_NS = (50_000_000, 5_000_000)  # about as much work stands before an examined fence
FENCES = 5

clock = time.perf_counter_ns


class Worker(Handlers):
    """What a coordinator may ask for, one method each."""

    trainer: Trainer

    def open(self, framework: str, **conditions: Any) -> dict[str, Any]:
        """Import the framework and apply the conditions, or say why that cannot be."""
        description = find(framework)
        installed = versions(description)
        if not installed:
            return {"missing": f"{description.title} is not installed ({description.install})"}
        self.conditions = Conditions(**conditions)
        begin = clock()
        try:
            self.adapter = adapter_class(description)(self.conditions)
        except Unavailable as reason:
            return {"missing": str(reason), "versions": installed}
        return {
            "versions": {**installed, "numpy": np.__version__, "python": python_version()},
            "import_s": (clock() - begin) / 1e9,
        }

    def pin(self, cores: list[int]) -> dict[str, Any]:
        """Stay on these cores from now on, with every thread there is and those to come.
        After the import, which may use any core; does nothing where pinning is not known."""
        for thread in threads():
            with contextlib.suppress(ProcessLookupError):  # ended meanwhile
                os.sched_setaffinity(thread, cores)
        return {}

    def build(self, variant: str, offset_ns: int = 0) -> dict[str, Any]:
        """Build the network from the initial weights; `offset_ns` turns this machine's
        monotonic clock into Unix time, the same for all workers of a contest."""
        self.variant, self.offset_ns = variant, offset_ns
        begin = clock()
        self.trainer = self.adapter.trainer(self.workload, self.initial, variant)
        self.trainer.synchronise()
        return {"build_s": (clock() - begin) / 1e9}

    def turn(
        self, first: int, count: int, rebuild: bool | None, spin: float = 0.0, pause: float = 0.0
    ) -> dict[str, Any]:
        """Train on mini-batches `first` to `first + count - 1`, from the initial weights:
        on a freshly built model, in the same model restored, or (None) as it is. A control is
        slowed by `spin`, a share of its time, and waits for `pause`, another, off the clock."""
        self.spin, self.pause = spin, pause
        if rebuild:
            del self.trainer  # first, so that the new one can have its memory
            self.trainer = self.adapter.trainer(self.workload, self.initial, self.variant)
        elif rebuild is not None:
            self.trainer.restart(self.initial)
        self.trainer.synchronise()
        rows = [self.measure((first + index) % len(self.inputs)) for index in range(count)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def measure(self, index: int) -> dict[str, Any]:
        """One mini-batch: data, transfer and step, each fenced by the device. The step of a
        control lasts until transfer and step have taken `1 + spin` times as long; then it spins
        for `pause` times as long once more, which is in no time."""
        trainer = self.trainer
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        cpu = time.process_time_ns()
        start = clock()
        np.copyto(self.host_inputs, self.inputs[index])
        np.copyto(self.host_targets, self.targets[index])
        fetched = clock()
        batch = trainer.put(self.host_inputs, self.host_targets)
        trainer.synchronise()
        transferred = clock()
        trainer.step(batch)
        trainer.synchronise()
        stepped = done = clock()
        if self.spin:
            stepped = spin_until(done + round(self.spin * (done - fetched)))
        cpu = time.process_time_ns() - cpu
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
        if self.pause:
            spin_until(stepped + round(self.pause * (done - fetched)))
        self.steps[self.spin, self.pause] += 1
        return {
            "batch": index,
            "step": self.steps[self.spin, self.pause] - 1,
            "start_ns": start + self.offset_ns,
            "data_ns": fetched - start,
            "transfer_ns": transferred - fetched,
            "step_ns": stepped - transferred,
            "cpu_ns": cpu,
            "switches": switches,
            "loss": trainer.loss(),
        }

    def settings(self) -> dict[str, Any]:
        """Effective settings read back from the framework, and the cores pinned to."""
        settings = self.trainer.settings()
        if not isinstance(settings, dict):
            raise TypeError(f"settings() gave {type(settings).__name__}, a dict is asked for")
        if lacking := [name for name in SETTINGS if name not in settings]:
            raise ValueError(
                f"settings() lacks {', '.join(lacking)}: an adapter answers everything in "
                'SETTINGS (frameworks/contract.py), with "n/a" where it has no such thing'
            )
        return {"settings": settings, "cores": pinned()}

    def fence(self, variant: str) -> dict[str, Any]:
        """Which share of the work is still to be done when `synchronise` has returned: shown
        by weights that take longer to read the first time than at once again."""
        trainer = self.adapter.trainer(self.workload, self.initial, variant)
        batch = trainer.put(*(array.copy() for array in self.mini_batch(0)))
        self.fenced(trainer, batch, 1)  # which may compile
        single = max(sum(self.fenced(trainer, batch, 1)), 1)
        # Many steps, where all may be left undone; few, where only the last one is.
        counts = {min(max(work // single, 1), 100) for work in FENCED_NS}
        shares = (min(self.late(trainer, batch, count) for _ in range(FENCES)) for count in counts)
        return {"unfenced": max(0.0, *shares)}

    def late(self, trainer: Trainer, batch: Any, count: int) -> float:
        work, late = self.fenced(trainer, batch, count)
        return late / (late + work)

    def fenced(self, trainer: Trainer, batch: Any, count: int) -> tuple[int, int]:
        """Nanoseconds of `count` steps with their fence, and of what came after it."""
        begin = clock()
        for _ in range(count):
            trainer.step(batch)
        trainer.synchronise()
        done = clock()
        first = trainer.weights()
        read = clock()
        again = trainer.weights()
        end = clock()
        del first, again  # not before: the second reading must not find the first one's memory
        return done - begin, (read - done) - (end - read)


find = framework  # `open` has an argument of that name


def spin_until(end: int) -> int:
    """Do nothing but look at the clock; the time when it was over."""
    while (now := clock()) < end:
        pass
    return now


def threads() -> list[int]:
    """The kernel's numbers of this process's threads; none where the kernel is not Linux."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    return [int(task.name) for task in Path("/proc/self/task").iterdir()]


def pinned() -> list[int]:
    """All cores that any thread of this process may run on."""
    cores: set[int] = set()
    for thread in threads():
        with contextlib.suppress(ProcessLookupError):
            cores |= os.sched_getaffinity(thread)
    return sorted(cores)


def explain(error: BaseException) -> str:
    """One line for the record; the whole traceback goes to the log."""
    text = " ".join(str(error).split())[:400]
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind in ("OutOfMemoryError", "ResourceExhaustedError"):
        return f"out of memory: {kind}: {text}"
    return f"{kind}: {text}"


def where(error: BaseException) -> str:
    """The last line of an adapter that an exception came through: `adapter.py:41`."""
    ours = str(Path(__file__).parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(ours) and "site-packages" not in frame.filename:
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""


def main(kind: type[Worker] = Worker) -> None:
    # Frameworks print to standard output at will; answers keep a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = kind()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except (Unavailable, NotImplementedError) as reason:
            answer = {"unavailable": str(reason)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": explain(error), "where": where(error)}
        with contextlib.suppress(BrokenPipeError):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()

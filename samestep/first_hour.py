"""Runs tasks in order, each with a time limit, a log and a record of how it ended.

However a run ends, its archive has all results so far, and the next run goes on: with the tasks
that were stopped or not begun, and last with those that failed, exceeded their limit or could not
be tried.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from samestep.archives import SUFFIX, pack
from workflows.machine import guardian
from workflows.output import explained
from workflows.planning.code import ROOT, content_hash, files_hash
from workflows.planning.configfiles import DEFAULT, ConfigurationError, read
from workflows.planning.plan import PlanError
from workflows.progress import duration, now
from workflows.records.folders import Folders
from workflows.records.machine_folder import write_machine
from workflows.records.schema import Record
from workflows.records.storage import RecordError, read_json, shown, write_json
from workflows.records.whole_files import atomic
from workflows.stages.collect import collect

How = Literal["done", "left out", "failed", "cut off", "stopped"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LATER: tuple[How, ...] = ("failed", "cut off", "left out")
ARRAYS = (".npy", ".npz")  # data sets and weights: large, and made again if they are needed
REFERENCE = "reference"  # the folder of the reference's arrays
PACKING_S, LEAST_S, PATIENCE_S = 20.0, 10.0, 10.0
TAIL = 4000  # characters at the end of a log that are searched for its last line


class Task(NamedTuple):
    """`words`: a module and its arguments. `settles`: what is known afterwards. `files`: the
    configurations of the study that it runs, None if it runs none. `absent`: the exit status which
    means that the task cannot be tried here."""

    name: str
    minutes: float
    words: tuple[str, ...]
    settles: str
    files: tuple[str, ...] | None = None
    absent: int | None = None

    @property
    def key(self) -> str:
        """A hash of what the outcome depends on."""
        files = [Path(file).absolute() for file in self.files or ()]
        return content_hash([self.words, code(), files_hash(DEFAULT, *files)])


class Ended(Record):
    """`how`: done; left out, because it cannot be tried here; failed; cut off at the task's own
    limit; or stopped with the whole run. `said`: the last line of its log, "" if it is done."""

    how: How
    key: str
    seconds: float = 0.0
    runs: int = 1
    said: str = ""


class State(Record):
    """`state.json`"""

    local: ClassVar[bool] = True

    tasks: dict[str, Ended] = Field(default={})


class FirstHour:
    """The tasks of one machine; `results/<machine>/first-hour` has their state, logs and archives.

    `archive` is written anew after every task. `minutes` limits the whole run.
    """

    def __init__(
        self, tasks: Sequence[Task], machine: str, archive: Path, minutes: float | None = None
    ) -> None:
        self.tasks, self.archive, self.machine = tasks, archive, Path("results") / machine
        self.home = self.machine / "first-hour"
        self.end = time.monotonic() + 60 * minutes - PACKING_S if minutes else float("inf")
        self.state = State()
        if (self.home / "state.json").exists():
            self.state = read_json(self.home / "state.json", State)

    def ended(self, task: Task) -> Ended | None:
        """How a task has ended; None if it was not run with this code and configuration."""
        found = self.state.tasks.get(task.name)
        return found if found and found.key == task.key else None

    def left(self) -> list[Task]:
        """The tasks to run, in order. Tasks that were left out are tried again, because a missing
        framework may be there now."""
        how = {task.name: one.how for task in self.tasks if (one := self.ended(task))}
        todo = [task for task in self.tasks if how.get(task.name) != "done"]
        return sorted(todo, key=lambda task: how.get(task.name) in LATER)

    def run(self) -> int:
        """Run what is left. Returns 0 if every task is then done or cannot be tried here."""
        for number in SIGNALS:
            signal.signal(number, interrupt)
        guardian.adopt()
        guardian.announce()
        with suppress(KeyboardInterrupt):
            for task in self.left():
                left_s = self.end - time.monotonic()
                if left_s < LEAST_S:
                    say(f"no time is left to begin with {task.name}")
                    break
                self.go(task, min(60 * task.minutes, left_s))
        self.pack()
        ended = [self.ended(task) for task in self.tasks]
        return int(not all(one and one.how in ("done", "left out") for one in ended))

    def go(self, task: Task, limit_s: float) -> None:
        """Run one task and keep what it leaves, also if this run is interrupted."""
        before = self.ended(task)
        one = Ended(how="stopped", key=task.key, runs=before.runs + 1 if before else 1)
        self.record(task, one)
        say(f"{task.name}: {task.settles}, at most {duration(limit_s)}")
        log, begin = self.home / "logs" / f"{task.name}.log", time.monotonic()
        log.parent.mkdir(exist_ok=True)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        try:
            with log.open("a") as file:
                process = subprocess.Popen(
                    [sys.executable, "-m", "workflows.machine.guardian", *task.words],
                    env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
                    stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                )  # fmt: skip
                try:
                    status = process.wait(limit_s)
                    named: dict[int | None, How] = {0: "done", task.absent: "left out"}
                    one.how = named.get(status, "failed")
                except subprocess.TimeoutExpired:
                    one.how = "cut off" if limit_s == 60 * task.minutes else "stopped"
                finally:
                    end(process)
        finally:
            one.seconds = round(time.monotonic() - begin, 1)
            one.said = last_line(log) if one.how != "done" else ""
            say(f"{task.name}: {one.how} after {duration(one.seconds)}")
            if task.files is not None:
                self.share(task)
            self.record(task, one)
            self.pack()

    def record(self, task: Task, one: Ended) -> None:
        self.state.tasks[task.name] = one
        write_json(self.home / "state.json", self.state)

    def share(self, task: Task) -> None:
        """Write the records of a task's study, if there are any, as `samestep share` does."""
        try:
            folders = self.folders(task)
            if not folders.study.exists():
                return
            with tempfile.TemporaryDirectory() as scratch:
                own = Path(scratch) / "collected"
                write_machine(own, *collect(folders))
                place = self.home / "archives" / f"gpu-{folders.root.name}{SUFFIX}"
                with atomic(place) as temporary:
                    pack([own], temporary, Path(scratch))
        except (ConfigurationError, PlanError, RecordError, OSError) as error:
            say(f"{task.name}: no archive of its records: {explained(error)}")

    def folders(self, task: Task) -> Folders:
        study = read([DEFAULT, *map(Path, task.files or ())])
        return Folders(self.machine / study.study)

    def pack(self) -> None:
        """Write the archive: state, logs, archives of studies, and what another clone needs to go
        on."""
        places = [self.home]
        for task in self.tasks:
            if task.files is not None and self.ended(task):
                with suppress(ConfigurationError):
                    places.append(self.folders(task).root)
        with (
            atomic(self.archive) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file,
        ):
            for place in dict.fromkeys(places):
                for path in small_files(place):
                    file.write(path)


@cache
def code() -> str:
    return files_hash("frameworks", "workflows", "tests")


def small_files(place: Path) -> Iterator[Path]:
    for path in sorted(place.rglob("*")):
        parts = path.relative_to(place).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden and REFERENCE not in parts and path.suffix not in ARRAYS:
            yield path


def interrupt(number: int, frame: object) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)  # once is enough
    raise KeyboardInterrupt


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a task. Its guardian ends everything that it has started; what is left then is killed."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
    guardian.end(guardian.below)


def last_line(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace")[-TAIL:].splitlines()
    return shown(next((line for line in reversed(lines) if line.strip()), ""))


def say(text: str) -> None:
    print(f"{now()} {text}", flush=True)

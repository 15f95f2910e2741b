"""A worker process, as the coordinator uses it: one request at a time, in JSON lines."""

import errno
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import IO, Any, ClassVar, Self
from zipfile import BadZipFile

import psutil  # type: ignore[import-untyped]

from frameworks.contract import Unavailable
from frameworks.device import DEVICES
from frameworks.registry import variables
from workflows.machine import guardian
from workflows.planning.code import ROOT
from workflows.planning.isolated import ours, sealed
from workflows.records.limits import TIMEOUT_S
from workflows.records.private import mask_log
from workflows.records.schema import Contender
from workflows.worker.answers import Improper, checked, line

# Numerical libraries read these variables at import. Each gets the contender's number of threads,
# whatever Snakemake or the shell have set.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
CLOSING_S = 10.0
LINGER_S = 0.5  # for what a process has started and what ends with it, by itself
LOOK_S = 1.0
LONGEST = 2**28  # bytes of an answer
MOST_PRINTED = 2**28  # bytes
LAST = 2**16  # bytes of the end of a log, in which its last line is
NO_SPACE, SPARE = f"[Errno {errno.ENOSPC}]", 2**20  # bytes
QUOTED = 300  # characters of a log's last line, in a reason


class WorkerDied(Exception):
    """A worker process ended, failed or took too long. `reason` says how; `where` is the line of
    its adapter, "" if that is not known; `ended` is whether the process is gone."""

    def __init__(self, reason: str, where: str = "", ended: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.where, self.ended = reason, where, ended

    @property
    def located(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


class WorkerProcess:
    """One contender's process, under its framework's interpreter.

    Its standard error, to which frameworks write much, goes to `log`. Its temporary files are in a
    folder of their own, because a worker ends without cleaning up. The environment variables
    `more` are added to its own. Use it as a context manager; leaving it ends the process, and
    whatever the process has started. A subclass may run another `module`, with more requests.
    """

    module = "workflows.worker.worker"
    alive: ClassVar[dict[int, "WorkerProcess"]] = {}  # by their process number
    starting: ClassVar[Lock] = Lock()  # no thread takes another's new worker for what is left

    def __init__(
        self,
        interpreter: str,
        contender: Contender,
        log: Path | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        if guardian.stopping:
            raise WorkerDied("stopped", ended=True)
        self.contender, self.timeout_s = contender, timeout_s
        self.requests, self.asked, self.unread = 0, "", bytearray()
        self.ended_by_us = ""  # why
        self.log: IO[bytes]
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            self.log = log.open("a+b")
        else:
            self.log = tempfile.TemporaryFile("a+b")  # noqa: SIM115, lives as long as the process
        self.scratch = tempfile.TemporaryDirectory(
            prefix="samestep-", dir=guardian.scratch(), ignore_cleanup_errors=True
        )
        own = {**surroundings(contender, interpreter), "TMPDIR": self.scratch.name, **more}
        guardian.adopt()
        try:
            with self.starting:
                self.process = subprocess.Popen(
                    [interpreter, "-m", self.module, str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self.log,
                    cwd=ROOT,
                    env=own,
                    start_new_session=True,  # what an adapter does to its group stays there
                )
                self.alive[self.process.pid] = self
        except (OSError, ValueError, TypeError) as error:
            self.log.close()
            self.scratch.cleanup()
            again = (
                "; python -m workflows.environments.stage builds it again"
                if ours(interpreter)
                else ""
            )
            why = getattr(error, "strerror", "") or error
            raise WorkerDied(f"cannot start {interpreter}: {why}{again}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind:
            self.end()
        self.close()

    def ask(self, do: str, timeout_s: float | None = None, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for its answer. Raises as `send` and `receive` do."""
        self.send(do, **arguments)
        return self.receive(timeout_s)

    def send(self, do: str, **arguments: Any) -> None:
        """Send a request without waiting. Raises WorkerDied if the process has ended."""
        assert self.process.stdin
        self.requests, self.asked = self.requests + 1, do
        request = json.dumps({"number": self.requests, "do": do, **arguments})
        try:
            self.process.stdin.write(request.encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError):  # ValueError: closed, because it was dismissed
            raise self.obituary() from None

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Wait for the answer to the last request, in the form that `answers.py` defines.

        Raises:
            WorkerDied: the process ended, raised an exception, gave an answer of another form, or
                took longer than `timeout_s`.
            Unavailable: the process is well, but cannot meet the request.
        """
        text = self.written(self.timeout_s if timeout_s is None else timeout_s)
        try:
            said = json.loads(text)
            if said.pop("number") != self.requests:
                raise ValueError("an answer to another request")
            ((what, answer),) = [(key, said[key]) for key in said if key != "where"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
            strange = line(text.decode(errors="replace"), QUOTED)
            reason = f"something else than the worker answers: {strange!r}"
            raise self.ended_for(reason) from None
        if what == "error":
            raise WorkerDied(line(str(answer)), line(str(said.get("where", ""))))
        if what == "unavailable":
            raise Unavailable(line(str(answer)))
        try:
            return checked(self.asked, answer)
        except Improper as reason:
            raise WorkerDied(line(str(reason))) from None

    def written(self, timeout_s: float) -> bytes:
        """The next line that the process writes. Raises WorkerDied as `receive` does."""
        assert self.process.stdout
        source, deadline = self.process.stdout.fileno(), time.monotonic() + timeout_s
        while (length := self.unread.find(b"\n")) < 0:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self.ended_for(f"no answer within {round(timeout_s, 1):g} s")
            if select.select([source], [], [], min(left_s, LOOK_S))[0]:
                part = os.read(source, 2**16)
                if not part:
                    raise self.obituary()
                self.unread += part
            elif self.process.poll() is not None:  # what it has started holds the pipe open
                raise self.obituary()
            else:
                self.end_what_others_left()
            if len(self.unread) > LONGEST:
                raise self.ended_for(f"an answer of more than {LONGEST:,} bytes")
            if self.printed_too_much:
                raise self.obituary()
        text = bytes(self.unread[:length])
        del self.unread[: length + 1]
        return text

    def send_open(self, precision: str, tf32: bool) -> None:
        """Ask it to import the framework under its contender's conditions."""
        contender = self.contender
        self.send(
            "open",
            framework=contender.framework,
            variant=getattr(contender, "built", contender.variant),
            device=contender.device,
            threads=contender.threads,
            precision=precision,
            tf32=tf32,
        )

    def cpu_s(self) -> float:
        """Processor time of all its threads so far; 0 after it has ended."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    @property
    def printed_too_much(self) -> bool:
        return not self.log.closed and os.fstat(self.log.fileno()).st_size > MOST_PRINTED

    def obituary(self) -> WorkerDied:
        """How the process ended: its signal or exit status, and the last line of its log. One that
        has printed too much is ended."""
        if self.printed_too_much:
            return self.ended_for(f"printed more than {MOST_PRINTED:,} bytes")
        try:
            status = self.process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            return self.ended_for("closed the pipe of its answers and went on")
        if self.ended_by_us:
            return WorkerDied(self.ended_by_us, ended=True)
        self.end()
        words = line(self.last_printed().strip().rpartition("\n")[2].strip(), QUOTED)
        last = f": {words}" if words else ""
        if status == -signal.SIGKILL:
            how = "killed (SIGKILL; out of memory is the usual cause)"
        elif status < 0:
            how = f"killed by {signal_name(-status)}"
        else:
            how = f"ended with exit status {status}"
        return WorkerDied(how + last, ended=True)

    def last_printed(self) -> str:
        """The end of its log."""
        handle = self.log.fileno()
        size = os.fstat(handle).st_size
        return os.pread(handle, LAST, max(size - LAST, 0)).decode(errors="replace")

    def ended_for(self, reason: str) -> WorkerDied:
        self.ended_by_us = reason
        self.end()
        return WorkerDied(reason, ended=True)

    def end(self) -> None:
        """Kill the process and whatever it has started. Keep the end of a log that is too long."""
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):  # the kernel waits for a device or a disk
            self.process.wait(CLOSING_S)
        if self.alive.get(self.process.pid) is self:  # the number may be another's by now
            self.alive.pop(self.process.pid, None)  # another thread may have been here
        guardian.end(self.left)
        if self.printed_too_much:
            last = self.last_printed()
            self.log.truncate(0)
            self.log.write(last.encode())
            self.log.flush()

    def end_what_others_left(self) -> None:
        """A worker that is killed while this one computes leaves what it has started, and one that
        prints without end fills the disk."""
        for other in [*self.alive.values()]:
            if other is self:
                continue
            with suppress(ValueError):  # another thread may be closing it
                if other.printed_too_much:
                    other.obituary()
                elif other.process.poll() is not None:
                    other.end()

    def left(self) -> list[int]:
        """Processes that this one has started and that are still there, by their session and by
        the temporary folder that they were given, and whatever workers that have ended left."""
        mark = f"TMPDIR={self.scratch.name}\0".encode()
        with self.starting:
            known = guardian.parents()
            inherited = guardian.inherited(known, self.alive)
        return [
            pid
            for pid in guardian.below(known)
            if guardian.session(pid) == self.process.pid or mark in guardian.variables(pid)
        ] + inherited

    def dismiss(self) -> None:
        """Let the process end, without waiting for it."""
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()

    def close(self) -> None:
        """Let the process end, and kill it and what it has left if they do not. Its log keeps no
        secrets."""
        self.dismiss()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(CLOSING_S)
            deadline = time.monotonic() + LINGER_S
            while self.left() and time.monotonic() < deadline:
                time.sleep(0.02)
        self.end()
        if self.process.stdout:
            self.process.stdout.close()
        if not self.log.closed:
            mask_log(self.log)
        self.log.close()
        self.scratch.cleanup()


@contextmanager
def left_by_a_worker() -> Iterator[None]:
    """Read files that a worker has written. Raises WorkerDied if they cannot be read."""
    try:
        yield
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        text = line(f"{type(error).__name__}: {error}")
        raise WorkerDied(f"its results cannot be read: {text}") from None


def require_space(death: WorkerDied) -> None:
    """Raises OSError if a worker failed because the folder for temporary files is full."""
    folder = tempfile.gettempdir()
    if NO_SPACE in death.reason and shutil.disk_usage(folder).free < SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder) from None


def signal_name(number: int) -> str:
    """`SIGSEGV`; signals for real time have numbers only."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def surroundings(contender: Contender, interpreter: str) -> Mapping[str, str]:
    """The environment variables of a worker.

    They are the caller's, without variables that its interpreter must not see. The variables of its
    thread count, device, framework and variant are added.
    """
    found = sealed(interpreter)
    found.update(dict.fromkeys(THREAD_VARIABLES, str(contender.threads)))
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), found.get("PYTHONPATH", "")]))
    found.update(DEVICES[contender.device].variables)
    found.update(variables(contender))
    return found

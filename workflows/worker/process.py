"""A worker process, as the coordinator uses it: one request at a time, in JSON lines."""

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Self

import psutil  # type: ignore[import-untyped]

from frameworks.contract import Unavailable
from frameworks.device import DEVICES
from frameworks.registry import variables
from workflows.planning.code import ROOT
from workflows.planning.isolated import ours, sealed
from workflows.records.schema import Contender

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


class WorkerDied(Exception):
    """A worker process ended, failed or took too long. `reason` says how; `where` is the line of
    its adapter, "" if that is not known."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(reason)
        self.reason, self.where = reason, where

    @property
    def located(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


class WorkerProcess:
    """One contender's process, under its framework's interpreter.

    Its standard error, to which frameworks write much, goes to `log`. Its temporary files are in a
    folder of their own, because a worker ends without cleaning up. The variables of `environment`
    are added to its surroundings. Use it as a context manager; leaving it ends the process. A
    subclass may run another `module`, with more requests.
    """

    module = "workflows.worker.worker"

    def __init__(
        self,
        interpreter: str,
        contender: Contender,
        log: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.contender = contender
        self.log: IO[bytes]
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            self.log = log.open("w+b")
        else:
            self.log = tempfile.TemporaryFile()  # noqa: SIM115, lives as long as the process
        self.scratch = tempfile.TemporaryDirectory(prefix="samestep-", ignore_cleanup_errors=True)
        own = {**surroundings(contender, interpreter), "TMPDIR": self.scratch.name, **environment}
        try:
            self.process = subprocess.Popen(
                [interpreter, "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                cwd=ROOT,
                env=own,
            )
        except OSError as error:
            self.log.close()
            self.scratch.cleanup()
            again = (
                "; python -m workflows.environments.stage builds it again"
                if ours(interpreter)
                else ""
            )
            raise WorkerDied(f"cannot start {interpreter}: {error.strerror}{again}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, do: str, timeout_s: float = 600, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for its answer. Raises as `send` and `receive` do."""
        self.send(do, **arguments)
        return self.receive(timeout_s)

    def send(self, do: str, **arguments: Any) -> None:
        """Send a request without waiting. Raises WorkerDied if the process has ended."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise WorkerDied(self.obituary()) from None

    def receive(self, timeout_s: float = 600) -> dict[str, Any]:
        """Wait for the answer to the last request.

        Raises:
            WorkerDied: the process ended, raised an exception, or took longer than `timeout_s`.
            Unavailable: the process is well, but cannot meet the request.
        """
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], timeout_s)[0]:
            self.process.kill()
            self.process.wait()
            raise WorkerDied(f"no answer within {timeout_s:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise WorkerDied(self.obituary())
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:  # it ended in the middle of an answer
            raise WorkerDied(self.obituary()) from None
        if "error" in answer:
            raise WorkerDied(answer["error"], answer.get("where", ""))
        if "unavailable" in answer:
            raise Unavailable(answer["unavailable"])
        return answer

    def send_open(self, precision: str, tf32: bool) -> None:
        """Ask it to import the framework under its contender's conditions."""
        contender = self.contender
        self.send(
            "open",
            framework=contender.framework,
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

    def obituary(self) -> str:
        """How the process ended: its signal or exit status, and the last line of its log."""
        try:
            status = self.process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.log.seek(0)
        words = self.log.read().decode(errors="replace").strip().splitlines()
        last = f": {words[-1].strip()[:300]}" if words else ""
        if status == -signal.SIGKILL:
            return f"killed (SIGKILL; out of memory is the usual cause){last}"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}{last}"
        return f"ended with exit status {status}{last}"

    def dismiss(self) -> None:
        """Let the process end, without waiting for it."""
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()

    def close(self) -> None:
        """Let the process end, and kill it if it does not."""
        self.dismiss()
        try:
            self.process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()
        self.scratch.cleanup()


def surroundings(contender: Contender, interpreter: str) -> Mapping[str, str]:
    """The environment variables of a worker.

    They are the caller's, without the ones that its interpreter must not see. The variables of
    its thread count, device, framework and variant are added.
    """
    found = sealed(interpreter)
    found.update(dict.fromkeys(THREAD_VARIABLES, str(contender.threads)))
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), found.get("PYTHONPATH", "")]))
    found.update(DEVICES[contender.device].environment)
    found.update(variables(contender))
    return found

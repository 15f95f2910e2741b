"""A worker process: one contender, under its framework's interpreter.

The coordinator starts it. It reads requests as JSON lines from its standard input, and answers
each with one line. It needs NumPy and the framework only.
"""

import contextlib
import copy
import ctypes
import fcntl
import json
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import IO, Any

from frameworks.contract import Unavailable
from workflows.machine import guardian
from workflows.worker.border import explain, kind, where
from workflows.worker.handlers import Handlers

OUT_OF_THE_WAY = 100  # descriptors from here on are not those that programs close
FIRST_TO_GO = "500"  # if memory runs out: rather this process than the coordinator


def main(handlers: Handlers) -> None:
    """Answer requests until standard input ends, and then end the process at once.

    A request may say which workload it is `on`. Each workload has its own data, network and
    count of steps; the adapter, which the first request opens, is the same for all.
    """
    requests, answers = channel()
    die_with_the_coordinator()
    workloads = {"": handlers}
    for line in requests:
        handlers.asleep.end()
        request = json.loads(line)
        number, name = request.pop("number", 0), request.pop("on", "")
        if name not in workloads:
            workloads[name] = copy.copy(handlers)
        text = answered(workloads[name], request)
        handlers.require_original()
        with contextlib.suppress(BrokenPipeError):
            answers.write(f'{{"number": {number}, {text[1:]}\n')
            answers.flush()
        handlers.asleep.begin()
    # Unloading a framework takes seconds, for which the coordinator would wait.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # what libraries in C have printed
    os._exit(0)


def answered(handlers: Handlers, request: dict[str, Any]) -> str:
    """The answer to a request as JSON, whatever the adapter raises."""
    try:
        return json.dumps({"answer": getattr(handlers, request.pop("do"))(**request)})
    except (Unavailable, NotImplementedError) as reason:
        text = explain(reason).partition(": ")[2]
        return json.dumps({"unavailable": text or f"{kind(reason)} without a message"})
    except BaseException as error:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
        place = ""
        with contextlib.suppress(BaseException):
            place = where(error)
        return json.dumps({"error": explain(error), "where": place})


def channel() -> tuple[IO[str], IO[str]]:
    """Where requests come from and answers go to.

    They have descriptors of their own, because adapters read standard input and print at will.
    Programs that an adapter starts do not inherit them.
    """
    requests, answers = (fcntl.fcntl(own, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for own in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(requests), os.fdopen(answers, "w")


def die_with_the_coordinator() -> None:
    """However the coordinator ends, this process does not compute on. Its daemons stay below it,
    so that the coordinator inherits none but those of a worker that has ended. It also leaves no
    core file, and goes first when memory runs out."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(guardian.SET_PDEATHSIG, signal.SIGKILL)
        if sys.argv[1:] not in ([], [str(os.getppid())]):  # it had ended before
            os._exit(1)
        guardian.adopt()
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main(Handlers())

"""A worker process: one contender, under its framework's interpreter.

The coordinator starts it. It reads requests as JSON lines from standard input, and answers each
with one line. It needs NumPy and the framework only.
"""

import contextlib
import copy
import ctypes
import json
import os
import sys
import traceback
from pathlib import Path

from frameworks.contract import Unavailable
from workflows.worker.handlers import Handlers


def main(handlers: Handlers) -> None:
    """Answer requests until standard input ends, and then end the process at once.

    A request may say which workload it is `on`. Each workload has its own data, network and
    count of steps; the adapter, which the first request opens, is the same for all.
    """
    workloads = {"": handlers}
    # Frameworks print to standard output at will, so the answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        name = request.pop("on", "")
        if name not in workloads:
            workloads[name] = copy.copy(handlers)
        try:
            answer = getattr(workloads[name], request.pop("do"))(**request)
        except (Unavailable, NotImplementedError) as reason:
            answer = {"unavailable": str(reason)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": explain(error), "where": where(error)}
        with contextlib.suppress(BrokenPipeError):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    # Unloading a framework takes seconds, for which the coordinator would wait.
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # what libraries in C have printed
    os._exit(0)


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


if __name__ == "__main__":
    main(Handlers())

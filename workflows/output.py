"""What a command prints, and what it says if the file system refuses something."""

import errno
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

REMEDIES = {
    errno.ENOSPC: "make room, then run the same command again",
    errno.EDQUOT: "make room, then run the same command again",
    errno.EACCES: "make this place writable, or work in a clone of your own",
    errno.EROFS: "this file system is read-only: work in a clone elsewhere",
}
REFUSED = 2  # the exit status
FAILED = 1  # that of any other error, as Python has it
INTERRUPTED = 128 + signal.SIGINT  # as shells have it
STANDARD_OUTPUT = 1
ROOT = Path(__file__).parents[1]
ROOMS = {"analysis", "benchmarks", "frameworks", "samestep", "workflows"}
LONGEST = 300  # characters of an error that nobody has foreseen


def explained(error: Exception) -> str:
    """An error for people. An error of the file system says what to do."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    if error.errno == errno.ENOENT and not error.filename:
        return "the current folder does not exist any more: change to another"
    where = f"{visible(error.filename)}: " if error.filename else ""
    remedy = REMEDIES.get(error.errno or 0, "")
    return f"{where}{error.strerror}" + (f": {remedy}" if remedy else "")


def place(word: str) -> Path:
    """An argument that names a file or folder. Raises ValueError for "", which would be the current
    folder."""
    if not word.strip():
        raise ValueError
    return Path(word)


def visible(text: object) -> str:
    """A text of lines, with characters that would steer a terminal as `repr()` writes them: names
    of files may be anything."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in str(text))


def printing(name: str, main: Callable[[], int]) -> int:
    """Run a command and return its exit status. An error of the file system, also of output to a
    full disk, becomes one line, and so does an unforeseen error. A reader who closes the pipe of
    our output gets no message, and neither does Ctrl-C."""
    try:
        try:
            return main()
        finally:
            print(end="", flush=True)  # while an error can still be reported
    except OSError as error:
        if (written() and not left()) or not isinstance(error, BrokenPipeError):
            print(f"{name}: {explained(error)}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        print(f"{name}: {unexpected(error)}", file=sys.stderr)
        return FAILED


def unexpected(error: Exception) -> str:
    """A line about an error: its message if its class is samestep's, else its class and message,
    and the last line of samestep that it came from."""
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):  # of a library
        return "there is not enough memory for this: free some, or allow this process more"
    if type(error).__module__.partition(".")[0] in ROOMS:
        return str(error)
    said = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    places = [
        (Path(frame.filename).relative_to(ROOT), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(ROOT)
    ]
    ours = [f"{file}:{line}" for file, line in places if file.parts[0] in ROOMS | {"tests"}]
    where = f" in {ours[-1]}" if ours else ""
    return f"{said}{where}. Nobody has foreseen this; PYTHONDEVMODE=1 shows how it came about"


def left() -> bool:
    """Whether the reader of our output has closed it. Python may have dropped what it could not
    write."""
    reader = select.poll()
    reader.register(STANDARD_OUTPUT, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in reader.poll(0))


def written() -> bool:
    """Whether all output could be written. Otherwise the rest is dropped, because Python would try
    to write it again when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)
        return False
    return True

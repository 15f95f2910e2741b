"""What a command prints, and what it says if the file system refuses something."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress

REMEDIES = {
    errno.ENOSPC: "make room, then run the same command again",
    errno.EDQUOT: "make room, then run the same command again",
    errno.EACCES: "make this place writable, or work in a clone of your own",
    errno.EROFS: "this file system is read-only: work in a clone elsewhere",
}
REFUSED = 2  # the exit status
STANDARD_OUTPUT = 1


def explained(error: Exception) -> str:
    """An error for people. One of the file system says what to do."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    remedy = REMEDIES.get(error.errno or 0, "")
    return f"{where}{error.strerror}" + (f": {remedy}" if remedy else "")


def printing(name: str, main: Callable[[], int]) -> int:
    """Run a command and return its exit status. What the file system refuses is one line, output
    to a full disk too. Whoever closes the pipe of our output wants to read no more, and gets no
    message."""
    try:
        try:
            return main()
        finally:
            print(end="", flush=True)  # while an error can still be reported
    except OSError as error:
        if written() or not isinstance(error, BrokenPipeError):
            print(f"{name}: {explained(error)}", file=sys.stderr)
        return REFUSED


def written() -> bool:
    """Whether all output could be written. Otherwise the rest is given up, which Python would try
    to write again when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)
        return False
    return True

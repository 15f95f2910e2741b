"""One measurement at a time on a machine, whoever runs it and in whichever folder.

The kernel holds the lock, so that a process loses it however it ends.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from filelock import FileLock, Timeout

EVERYBODY = 0o666


@contextmanager
def machine_lock(on_wait: Callable[[str], None], every_s: float = 30.0) -> Iterator[None]:
    """Hold the machine for the block, and wait for it as long as necessary.

    `on_wait` gets the name of the holder at once and then every `every_s` seconds. The lock is
    `samestep.lock` in the temporary folder, or `SAMESTEP_LOCK`. If that cannot be opened, the
    lock is the user's own, which keeps out only this user's other measurements.

    Raises:
        OSError: neither file can be opened.
    """
    path = Path(os.environ.get("SAMESTEP_LOCK") or shared())
    try:
        lock = attempt(path)
    except OSError as error:
        on_wait(
            "other users' measurements are not kept out: cannot open "
            f"{path} ({error.strerror or error}); locking {personal()} instead"
        )
        path = personal()
        try:
            lock = attempt(path)
        except OSError as second:
            raise OSError(
                f"{path}: {second.strerror or second}: set SAMESTEP_LOCK to a file that you can "
                "write, the same for all who measure on this machine"
            ) from None
    while not lock.is_locked:
        on_wait(f"waiting for the machine: {holder(path)}")
        # Seldom, because a waiting process shares the cores with a measurement.
        with suppress(Timeout):
            lock.acquire(timeout=every_s, poll_interval=min(1.0, every_s))
    try:
        sign(path, f"{os.getpid()} {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        yield
    finally:
        sign(path, "")
        lock.release()


def shared() -> Path:
    return Path(tempfile.gettempdir()) / "samestep.lock"


def personal() -> Path:
    return Path(tempfile.gettempdir()) / f"samestep-{os.getuid()}.lock"


def attempt(path: Path) -> FileLock:
    """A lock on `path`, held if nobody else holds it. Raises OSError if it cannot be opened."""
    lock = FileLock(path, mode=EVERYBODY)
    with suppress(Timeout):
        lock.acquire(blocking=False)
    return lock


def holder(path: Path) -> str:
    """A description of the process that holds the lock, as far as known."""
    try:
        pid, _, since = note(path).read_text().strip().partition(" ")
    except (OSError, UnicodeDecodeError):
        pid, since = "", ""
    # A killed process leaves its note.
    if pid.isdecimal() and psutil.pid_exists(int(pid)):
        return f"process {pid} has been measuring since {since}"
    return "another process is measuring"


def note(path: Path) -> Path:
    """A file beside the lock, because older filelocks empty the lock whenever they try it."""
    return path.with_name(f"{path.name}.holder")


def sign(path: Path, text: str) -> None:
    """Leave a note that names the holder of the lock, if that is possible."""
    with suppress(OSError):
        # In /tmp, Linux refuses O_CREAT even of an existing file if another user made it.
        create = 0 if note(path).exists() else os.O_CREAT
        handle = os.open(note(path), os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | create, EVERYBODY)
        with os.fdopen(handle, "w") as file:
            with suppress(PermissionError):
                os.fchmod(handle, EVERYBODY)
            file.write(text)

"""Writes files whole or not at all, and each by one command at a time."""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

DEVICES = Path("/dev")  # whose links to files are no files either


def discard(place: Path) -> None:
    """Remove a folder, or a link to one, if it is there."""
    if place.is_symlink():
        place.unlink(missing_ok=True)
    else:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place if the block succeeds.

    Its name is fixed, so that what a killed process has left is written again. Folders, pipes and
    devices are not replaced.

    Raises:
        OSError: it cannot be written, or another command is writing it.
    """
    if path.is_dir() or path.absolute().parent == DEVICES or (path.exists() and not path.is_file()):
        raise OSError(errno.EEXIST, "this is no file: name another place", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    if (file := locked(temporary)) is None:
        raise OSError(errno.EBUSY, "another command is writing it: wait for it", str(path))
    try:
        yield temporary
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
    finally:
        os.close(file)


def locked(path: Path) -> int | None:
    """The descriptor of a file that nobody else writes until it is closed, if nobody does now.
    Not a FileLock, because some versions empty the file that they try."""
    while True:
        file = opened_itself(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        except OSError:  # no locks on this file system
            return file
        with suppress(FileNotFoundError):  # it has taken its place meanwhile
            if os.path.samestat(os.fstat(file), path.lstat()):
                return file
        os.close(file)


def opened_itself(path: Path) -> int:
    """The descriptor of the file of this name. A link or a pipe of this name, which may be of
    somebody else, is removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        try:
            file = os.open(path, flags)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        else:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
                os.fchmod(file, 0o644)  # whatever the mask, it is opened again
                return file
            os.close(file)
        path.unlink(missing_ok=True)


def write_together(files: Mapping[Path, str]) -> None:
    """Write these texts, all of them or none. The last one takes its place first."""
    with ExitStack() as stack:
        for path, text in files.items():
            stack.enter_context(atomic(path)).write_bytes(text.encode())

"""An isolated environment's way into the cache: complete or not at all, and by one process."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from workflows.environments.installer import InstallerFailed, creating, installing, run
from workflows.machine.lock import machine_lock
from workflows.planning.isolated import Environment
from workflows.progress import Progress
from workflows.records.schema import Record
from workflows.records.storage import RecordError, read_json, write_json

POLL_S = 0.5


class Built(Record):
    """`environments/<framework>.json`, and `ready.json` in the environment itself."""

    framework: str
    folder: str
    missing: str = ""  # why there is none, if so
    attempt: int = 1  # of the study to build it
    installer: str = ""
    took_s: float = 0.0
    size_mb: int = 0


def build(wanted: Environment, progress: Progress, log: Path) -> Built:
    """The environment as it is in the cache, where it is put in one go once it is complete.

    Another build of the same is waited for, and a measurement on this machine too.

    Raises:
        InstallerFailed: with the installer's last lines, or why it was not even called.
        OSError: the cache cannot be written to, say.
    """
    if wanted.refusal:
        raise InstallerFailed(wanted.refusal)
    wanted.folder.parent.mkdir(parents=True, exist_ok=True)
    if found := ready(wanted):
        return found
    with waiting(wanted.folder.with_suffix(".lock"), progress.note):
        if found := ready(wanted):  # whoever was waited for has built it
            return found
        with machine_lock(progress.note):
            return build_anew(wanted, progress, log)


def ready(wanted: Environment) -> Built | None:
    try:
        found = read_json(wanted.folder / "ready.json", Built)
    except RecordError:
        return None
    return found if wanted.python.exists() else None


@contextmanager
def waiting(path: Path, note: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(path)
    with suppress(Timeout):
        lock.acquire(blocking=False)
    if not lock.is_locked:
        note("waiting: it is being built by another process")
        lock.acquire(poll_interval=POLL_S)
    try:
        yield
    finally:
        lock.release()


def build_anew(wanted: Environment, progress: Progress, log: Path) -> Built:
    begin, uv = time.monotonic(), shutil.which("uv")
    for left in wanted.folder.parent.glob(f".{wanted.folder.name}.*"):  # by a build that was killed
        shutil.rmtree(left, ignore_errors=True)
    unfinished = wanted.folder.with_name(f".{wanted.folder.name}.{os.getpid()}")
    progress.note(f"building {wanted.folder} with {'uv' if uv else 'pip'}")
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        run(creating(unfinished, uv), wanted.beside, log, progress)
        pins = unfinished / "constraints.txt"
        pins.write_text(wanted.constraints)
        asked = [*wanted.wanted, *(["-c", str(pins)] if wanted.constraints else [])]
        run(installing(asked, unfinished, uv), wanted.beside, log, progress)
        built = Built(
            framework=wanted.framework,
            folder=str(wanted.folder),
            installer="uv" if uv else "pip",
            took_s=round(time.monotonic() - begin, 1),
            size_mb=round(size(unfinished) / 1e6),
        )
        write_json(unfinished / "ready.json", built)
        shutil.rmtree(wanted.folder, ignore_errors=True)  # one that has lost its Python, say
        unfinished.replace(wanted.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return built


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())

"""Build the environment of a framework's own, under `isolate: true`.

`python -m workflows.environments --study results/<machine>/<study> --framework jax` builds it if
it is not there, and writes `environments/jax.json`: where it is, or why it could not be built.
The latter is no error, since the study goes on without that framework.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from workflows.configuration import Configuration
from workflows.folders import Folders
from workflows.installer import CONSTRAINTS, InstallerFailed, creating, installing, run
from workflows.isolation import Environment, environment, isolated
from workflows.lock import machine_lock
from workflows.plan import PlanError, load_study
from workflows.progress import Progress
from workflows.records import Record
from workflows.storage import RecordError, read_json, write_json

UNBUILT = "its environment could not be built"
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
        (unfinished / CONSTRAINTS).write_text(wanted.constraints)
        run(installing(wanted.wanted, unfinished, uv), wanted.beside, log, progress)
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


def without_environment(
    study: Configuration, name: str, folders: Folders, again: bool = False
) -> str:
    """Why a framework has no environment, or "": by the record, if there is one of what is
    wanted now, and `again` does not ask to build what could not be built; else it is built."""
    if not isolated(study, name):
        return ""
    wanted = environment(name)
    with suppress(RecordError):
        known = read_json(folders.environment(name), Built)
        if known.folder == str(wanted.folder) and not (known.missing and again):
            return known.missing
    return make(wanted, folders, attempt(folders, name)).missing


def attempt(folders: Folders, name: str) -> int:
    """Which one is due: after a failed one, the next. Snakemake sees by it what to try again."""
    try:
        before = read_json(folders.environment(name), Built)
    except RecordError:
        return 1
    return before.attempt + bool(before.missing)


def make(wanted: Environment, folders: Folders, attempt: int = 1) -> Built:
    """Build it, and leave a record in the study of how that went."""
    name, folder = wanted.framework, str(wanted.folder)
    log = (folders.logs / f"environment-{name}.log").absolute()
    with Progress(1, f"environment of {name}") as progress:
        try:
            built = build(wanted, progress, log)
        except (InstallerFailed, OSError) as failure:
            built = Built(framework=name, folder=folder, missing=f"{UNBUILT}: {failure}")
    ready = f"ready in {folder}, {built.size_mb} MB"
    progress.note(f"{built.missing} (all of it: {log})" if built.missing else ready)
    built.attempt = attempt
    write_json(folders.environment(name), built)
    return built


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.environments", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--framework", required=True)
    parser.add_argument("--attempt", type=int, help="its number, after failed ones")
    arguments = parser.parse_args()
    name, folders = arguments.framework, Folders(arguments.study)
    try:
        study = load_study(folders)
        if name not in [entry.framework for entry in study.contenders]:
            raise PlanError(f"{name!r} is not among the contenders of the study")
        if not isolated(study, name):
            raise PlanError(
                f"{name} has no environment of its own in this study: its configuration has no "
                "`isolate: true`, or an interpreter for it"
            )
        make(environment(name), folders, arguments.attempt or attempt(folders, name))
    except (RecordError, PlanError, OSError) as error:
        print(f"environment of {name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

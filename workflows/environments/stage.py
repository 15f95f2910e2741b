"""Build the virtual environment of one framework with uv, under `isolate: true`.

`python -m workflows.environments.stage --study results/<machine>/<study> --framework jax` builds
the environment if it is missing. It writes `environments/jax.json`: where the environment is, or
why building failed. A failed build exits with 0, because the study goes on without that framework.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from workflows.machine.guardian import interruptible
from workflows.machine.lock import machine_lock
from workflows.output import explained
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import Environment, environment, isolated, without_leaks
from workflows.planning.plan import PlanError, load_study, require_known
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.private import cut, mask_log
from workflows.records.schema import Record
from workflows.records.storage import RecordError, read_json, write_json

UNBUILT = "its environment could not be built"
COMPLETE = "complete"  # a file that a build writes last
LAST_LINES = 8  # of uv's output in a reason; a conflict of versions needs as many


class BuildFailed(Exception):
    """No environment: the message is uv's last lines, or why uv was not started."""


class Built(Record):
    """`environments/<framework>.json`: the environment's folder, or why there is none.

    `attempt` counts this study's attempts; it grows after each failure.
    """

    local: ClassVar[bool] = True

    framework: str
    folder: str
    missing: str = ""
    attempt: int = 1


def without_environment(study: Configuration, name: str, folders: Folders) -> str:
    """Why a framework has no environment, or "".

    A record of the present requirements answers. Otherwise this builds the environment.
    """
    if not isolated(study, name):
        return ""
    wanted = environment(name)
    with suppress(RecordError):
        known = read_json(folders.environment(name), Built)
        if known.folder == str(wanted.folder):
            return known.missing
    return make(wanted, folders, attempt(folders, name)).missing


def attempt(folders: Folders, name: str) -> int:
    """The number of the next attempt. Snakemake repeats a failed build because this changes."""
    try:
        before = read_json(folders.environment(name), Built)
    except RecordError:
        return 1
    return before.attempt + bool(before.missing)


def make(wanted: Environment, folders: Folders, attempt: int = 1) -> Built:
    """Build an environment unless it is complete, and record in the study how that went.

    Measurements and other builds on this machine end first.
    """
    name = wanted.framework
    log = (folders.logs / f"environment-{name}.log").absolute()
    record = Built(framework=name, folder=str(wanted.folder), attempt=attempt)
    with Progress(1, f"environment of {name}") as progress:
        try:
            if wanted.refusal:
                raise BuildFailed(wanted.refusal)
            if not complete(wanted):
                with machine_lock(progress.note):
                    if not complete(wanted):  # nor has the holder of the lock built it
                        progress.note(f"building {wanted.folder} with uv")
                        build(wanted, log)
            progress.note(f"ready in {wanted.folder}")
        except (BuildFailed, OSError) as failure:
            record.missing = f"{UNBUILT}: {failure}"
            progress.note(f"{record.missing} (uv's output: {log})")
    write_json(folders.environment(name), record)
    return record


def complete(wanted: Environment) -> bool:
    return (wanted.folder / COMPLETE).exists() and wanted.python.exists()


def build(wanted: Environment, log: Path) -> None:
    """Fill the environment's folder; uv's output goes to `log`.

    Raises:
        BuildFailed: uv failed or is missing.
        OSError: the cache or the log cannot be written.
    """
    beside_python = Path(sys.executable).parent
    uv = shutil.which("uv", path=f"{os.environ.get('PATH', '')}{os.pathsep}{beside_python}")
    if not uv:
        raise BuildFailed("`isolate: true` needs uv, which is not installed: pip install uv")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    shutil.rmtree(wanted.folder, ignore_errors=True)  # the rest of a build that was killed
    try:
        ours = ["--quiet", "--no-project", "--python", sys.executable]
        run([uv, "venv", *ours, str(wanted.folder)], log)
        pins = wanted.folder / "constraints.txt"
        pins.write_text(wanted.constraints, encoding="utf-8")
        constraints = ["--constraints", str(pins)] if wanted.constraints else []
        install = [uv, "pip", "install", "--python", str(wanted.python), *wanted.wanted]
        run([*install, *constraints], log, wanted.beside)
        (wanted.folder / COMPLETE).touch()
    finally:
        if not complete(wanted):
            shutil.rmtree(wanted.folder, ignore_errors=True)


def run(command: list[str], log: Path, folder: Path | None = None) -> None:
    """Run uv in `folder`. Raises BuildFailed with its last lines, without passwords."""
    with log.open("a+b") as file:
        try:
            status = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={**without_leaks(), "NO_COLOR": "1"},
            ).returncode  # fmt: skip
        finally:
            mask_log(file)
    if status:
        raise BuildFailed(last_lines(log) or f"uv ended with exit status {status}")


def last_lines(log: Path) -> str:
    """The end of uv's output, without passwords and without the path of the environment."""
    lines = log.read_text("utf-8", errors="replace")[-4000:].splitlines()
    said = [re.sub(r"//[^/@\s]+@", "//...@", line).strip() for line in lines]
    kept = [cut(line, 200) for line in said if line and not line.startswith("Using Python")]
    return " / ".join(kept[-LAST_LINES:])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.environments.stage", description=__doc__
    )
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--framework", required=True)
    parser.add_argument("--attempt", type=int, help="its number; it grows after each failure")
    arguments = parser.parse_args()
    name, folders = arguments.framework, Folders(arguments.study)
    try:
        study = load_study(folders)
        require_known("framework", name, {entry.framework for entry in study.contenders})
        if not isolated(study, name):
            raise PlanError(
                f"{name} has no environment of its own in this study: its configuration has no "
                "`isolate: true`, or an interpreter for it"
            )
        make(environment(name), folders, arguments.attempt or attempt(folders, name))
    except (RecordError, PlanError, OSError) as error:
        print(f"environment of {name}: {explained(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))

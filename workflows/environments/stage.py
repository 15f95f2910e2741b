"""Build the environment of a framework's own, under `isolate: true`.

`python -m workflows.environments.stage --study results/<machine>/<study> --framework jax` builds
it if it is not there, and writes `environments/jax.json`: where it is, or why building failed.
A failure is no error, since the study goes on without that framework.
"""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from workflows.environments.building import Built, build
from workflows.environments.installer import InstallerFailed
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import Environment, environment, isolated
from workflows.planning.plan import PlanError, load_study
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.storage import RecordError, read_json, write_json

UNBUILT = "its environment could not be built"


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
    parser = argparse.ArgumentParser(
        prog="python -m workflows.environments.stage", description=__doc__
    )
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

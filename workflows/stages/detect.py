"""Detect: can a framework run here, on which devices, in which versions?

`python -m workflows.stages.detect --configfile config/study.yaml` begins a study without Snakemake:
it writes `study.json`, detects every framework and prints the study's folder.
`python -m workflows.stages.detect --study FOLDER --framework NAME` detects one framework again.
"""

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from frameworks.registry import framework
from workflows.environments.stage import without_environment
from workflows.machine.fingerprint import fingerprint
from workflows.planning.configfiles import ConfigurationError, read
from workflows.planning.configuration import Configuration
from workflows.planning.plan import (
    Detected,
    Detection,
    PlanError,
    PlannedContender,
    contenders_here,
    load_study,
    surface,
    write_request,
)
from workflows.planning.replicates import announcement
from workflows.records.folders import Folders
from workflows.records.spent import timed
from workflows.records.storage import RecordError, write_json
from workflows.worker.process import WorkerDied, WorkerProcess


def detect(
    study: Configuration, name: str, note: Callable[[str], None], unbuilt: str = ""
) -> Detection:
    """Open a framework briefly on each device of the study and with each variant's variables.

    Each opening costs one import, and two run side by side. If its virtual environment is
    `unbuilt` for a reason, nothing is opened and that reason is recorded.

    Raises:
        PlanError: a contender of it that is marked `required` cannot run.
    """
    own = contenders_here(study, name)
    places: dict[str, PlannedContender] = {}
    for contender in own:
        places.setdefault(surface(contender), contender.model_copy(update={"threads": 1}))
    if unbuilt:
        devices = dict.fromkeys(places, Detected(missing=unbuilt))
    else:
        note(f"looking for {name} on {', '.join(places)} ...")
        with ThreadPoolExecutor(2) as pool:
            devices = dict(zip(places, pool.map(open_once, places.values()), strict=True))
    for contender in own:
        contender.missing = contender.missing or devices[surface(contender)].missing
        if contender.missing and contender.required:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    for reason in dict.fromkeys(c.missing for c in own if c.missing):
        note(f"without {', '.join(c.name for c in own if c.missing == reason)}: {reason}")
    return Detection(framework=name, devices=devices)


def open_once(contender: PlannedContender) -> Detected:
    description = framework(contender.framework)
    if contender.device not in description.devices:
        return Detected(missing=f"{description.title} does not run on {contender.device}")
    try:
        with WorkerProcess(contender.interpreter, contender) as worker:
            worker.send_open(precision="float32", tf32=False)
            answer = worker.receive()
            return Detected(missing=answer.get("missing", ""), versions=answer.get("versions", {}))
    except WorkerDied as death:
        return Detected(missing=death.reason)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.stages.detect", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--configfile", type=Path, nargs="+", help="later files go over earlier")
    source.add_argument("--study", type=Path, help="results/<machine>/<study>, with study.json")
    parser.add_argument("--framework", help="with --study: detect this one")
    arguments = parser.parse_args()

    def note(text: str) -> None:
        if text:
            print(text, file=sys.stderr)

    try:
        if arguments.configfile:
            study, machine = read(arguments.configfile), fingerprint()
            folders = Folders(Path("results") / machine / study.study)
            files = " ".join(map(str, arguments.configfile))
            write_request(
                folders, study, machine, f"python -m workflows.stages.detect --configfile {files}"
            )
            names = list(dict.fromkeys(entry.framework for entry in study.contenders))
        else:
            folders = Folders(arguments.study)
            study = load_study(folders)
            names = [arguments.framework]
        for name in names:
            unbuilt = without_environment(study, name, folders, again=bool(arguments.configfile))
            with timed(folders.spent(f"detect-{name}")):
                write_json(folders.probe(name), detect(study, name, note, unbuilt))
        if arguments.configfile:
            note(announcement(folders, study))
    except (ConfigurationError, PlanError, RecordError, ValueError, OSError) as error:
        note(str(error))
        return 1
    if arguments.configfile:
        print(folders.root)
    return 0


if __name__ == "__main__":
    sys.exit(main())

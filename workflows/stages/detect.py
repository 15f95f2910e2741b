"""Detect: can a framework run here, on which devices, in which versions?

`python -m workflows.stages.detect --study results/<machine>/<study> --framework jax` looks for one
framework.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from frameworks.contract import Framework, Unavailable
from frameworks.device import DEVICES, HOST
from frameworks.registry import framework
from workflows.environments.stage import without_environment
from workflows.machine.guardian import interruptible
from workflows.output import explained
from workflows.planning import names
from workflows.planning.configuration import Configuration
from workflows.planning.plan import (
    Detected,
    Detection,
    PlanError,
    PlannedContender,
    contenders_here,
    load_study,
    require_known,
    surface,
)
from workflows.planning.todo import Todo
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.limits import TIMEOUT_S
from workflows.records.minutes import timed
from workflows.records.storage import RecordError, read_json, write_json
from workflows.worker.answers import line
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
    if unloadable := framework(name).unloadable:
        devices = dict.fromkeys(places, Detected(missing=line(unloadable), failed=True))
    elif unbuilt:
        devices = dict.fromkeys(places, Detected(missing=unbuilt))
    else:
        with ThreadPoolExecutor(2) as pool:
            each = partial(open_once, timeout_s=study.contest.timeout_s)
            devices = dict(zip(places, pool.map(each, places.values()), strict=True))
    for contender in own:
        contender.missing = contender.missing or devices[surface(contender)].missing
        if contender.missing and contender.required:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    for text in found(own, devices):
        note(text)
    return Detection(framework=name, devices=devices)


def open_once(contender: PlannedContender, timeout_s: float = TIMEOUT_S) -> Detected:
    description = framework(contender.framework)
    if contender.device not in description.devices:
        return Detected(missing=f"{description.title} does not run on {contender.device}")
    for last in (False, True):
        try:
            with WorkerProcess(contender.interpreter, contender, timeout_s=timeout_s) as worker:
                worker.send_open(precision="float32", tf32=False)
                answer = worker.receive()
                missing = answer["missing"] or other_version(description, answer["versions"])
                return Detected(missing=missing, versions=answer["versions"])
        except (WorkerDied, Unavailable) as failure:
            # A process may end for reasons of the machine, and no later run looks again.
            if last or not (isinstance(failure, WorkerDied) and failure.ended):
                return Detected(missing=str(failure), failed=isinstance(failure, WorkerDied))
    raise AssertionError("the last attempt has an outcome")


def other_version(description: Framework, versions: Mapping[str, str]) -> str:
    """Why an interpreter does not have the version of the description; "" if it has it."""
    there = [versions[name] for name in description.distributions if name in versions]
    if not description.version or description.version in [one.split("+")[0] for one in there]:
        return ""
    return f"its interpreter has version {names.listing(there)}"


def found(own: Sequence[PlannedContender], devices: Mapping[str, Detected]) -> Iterator[str]:
    """Which version can run, and what cannot for another reason than that a device is absent."""
    description = framework(own[0].framework)
    versions = {v for one in devices.values() for name, v in one.versions.items()
                if name in description.distributions and not one.missing}  # fmt: skip
    if any(not one.missing for one in own):
        yield f"found {' '.join([description.title, *sorted(versions)])}"
    absent = {one.device for one in own} - {one.device for one in own if not one.missing}
    whole = all(one.missing for one in own)
    for reason in dict.fromkeys(one.missing for one in own if one.missing):
        without = [one for one in own if one.missing == reason]
        if whole:
            yield f"without {description.title}: {reason}"
        elif not {one.device for one in without} <= absent - {HOST.name}:
            yield f"without {description.title} {names.several(without)}: {reason}"


def devices_here(folders: Folders, study: Configuration) -> str:
    """A line after the last detection: on which devices other than the processor frameworks cannot
    run. "" before that, or if they can."""
    todo, frameworks = Todo(folders), list(dict.fromkeys(c.framework for c in study.contenders))
    if not all(todo.done(folders.detection(name)) for name in frameworks):
        return ""
    said = []
    for device in study.devices:
        if DEVICES[device].is_host:
            continue
        able, missing = [], {}
        for name in frameworks:
            surfaces = read_json(folders.detection(name), Detection).devices
            if all(one.missing for one in surfaces.values()):
                continue
            on = [one for surface, one in surfaces.items() if surface.split()[0] == device]
            if on and all(one.missing for one in on):
                missing[name] = on[0].missing
            else:
                able.append(name)
        title = DEVICES[device].title
        if missing and not able:
            said.append(f"no {title} here: its rows are left out")
        elif missing:
            left_out = names.listing(framework(name).title for name in missing)
            said.append(f"without {left_out} on {title}: {next(iter(missing.values()))}")
    return "; ".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.stages.detect", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--framework", required=True)
    parser.add_argument("--log", type=Path, help="also write there what was found")
    arguments = parser.parse_args()
    name = arguments.framework
    try:
        folders = Folders(arguments.study)
        study = load_study(folders)
        require_known("framework", name, {entry.framework for entry in study.contenders})
        unbuilt = without_environment(study, name, folders)
        spent = timed(folders.spent(f"detect-{name}"))
        with Progress(1, "", log=arguments.log) as progress, spent:
            progress.draw(0, f"looking for {framework(name).title}")
            write_json(folders.detection(name), detect(study, name, progress.note, unbuilt))
            if text := devices_here(folders, study):
                progress.note(text)
    except (PlanError, RecordError, ValueError, OSError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))

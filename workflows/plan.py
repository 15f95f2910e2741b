"""The plan: who meets whom, and who cannot, known before any time is spent.

A study's folder holds `study.json`, what was asked for, and `probes/<framework>.json`, what
was found of each framework; together they make the `Plan` that every later stage reads.

`python -m workflows.plan --configfile config/study.yaml` writes all of them and prints the
folder; `python -m workflows.plan --study FOLDER --framework NAME` probes one framework.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from frameworks.registry import framework
from workflows.configuration import Configuration, ConfigurationError, parse, read
from workflows.folders import Folders
from workflows.machine import available_cores, fingerprint
from workflows.process import WorkerDied, WorkerProcess
from workflows.records import Contender, Record, RecordError, read_json, write_json


class PlanError(Exception):
    """A study that cannot be run as configured on this machine."""


class PlannedContender(Contender):
    """A contender with the interpreter it runs under, and why it cannot, if so."""

    interpreter: str
    required: bool
    missing: str = ""
    versions: dict[str, str] = {}


class Asked(Record):
    """`study.json`: a configuration, for one machine."""

    machine: str
    command: str  # how the study was started, for the report to repeat
    configuration: dict[str, Any]


class Found(Record):
    """What a probe of one framework on one device found: why it cannot run, if so."""

    missing: str = ""
    versions: dict[str, str] = {}


class Probe(Record):
    """`probes/<framework>.json`: a framework as found under its interpreter, by device."""

    framework: str
    devices: dict[str, Found]


class Plan(Record):
    """A configuration applied to one machine."""

    machine: str
    command: str
    configuration: dict[str, Any]
    contenders: list[PlannedContender]

    @property
    def study(self) -> Configuration:
        return parse(self.configuration)

    @property
    def runnable(self) -> list[PlannedContender]:
        return [contender for contender in self.contenders if not contender.missing]

    @property
    def reference(self) -> PlannedContender:
        """The contender that certificates refer to: the reference framework's first variant
        on the processor with fewest threads, else the first that can run at all.

        Raises:
            PlanError: none can; the message says why of each.
        """
        ranked = sorted(
            self.runnable,
            key=lambda c: (c.framework != self.study.reference, c.device != "cpu", c.threads),
        )
        if not ranked:
            reasons = "\n  ".join(f"{c.name}: {c.missing}" for c in self.contenders)
            raise PlanError(f"no contender can run here:\n  {reasons}")
        return ranked[0]


def contenders(study: Configuration, cores: int) -> Iterator[PlannedContender]:
    """Every contender of the configuration, in its order; `all` threads become a number."""
    seen = set()
    for entry in study.contenders:
        for variant in entry.variants:
            for device in entry.devices or study.devices:
                for asked in entry.threads or study.threads:
                    contender = PlannedContender(
                        framework=entry.framework,
                        variant=variant,
                        device=device,
                        threads=cores if asked == "all" else asked,
                        interpreter=study.interpreters.get(entry.framework, sys.executable),
                        required=entry.required,
                    )
                    if contender.name in seen:  # on one core, `all` is 1
                        continue
                    seen.add(contender.name)
                    if contender.threads > cores:
                        contender.missing = (
                            f"{contender.threads} threads asked for, {cores} processor cores here"
                        )
                    yield contender


def look(study: Configuration, name: str, note: Callable[[str], None]) -> Probe:
    """Open a framework on each device it is wanted on, for a moment; one import each.

    Raises:
        PlanError: a contender of it that is marked `required` cannot run.
    """
    own = [c for c in contenders(study, len(available_cores())) if c.framework == name]
    devices = {}
    for contender in own:
        if contender.device not in devices:
            note(f"looking for {name} on {contender.device} ...")
            devices[contender.device] = open_once(contender.model_copy(update={"threads": 1}))
    for contender in own:
        contender.missing = contender.missing or devices[contender.device].missing
        if contender.missing and contender.required:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    for reason in dict.fromkeys(c.missing for c in own if c.missing):
        note(f"without {', '.join(c.name for c in own if c.missing == reason)}: {reason}")
    return Probe(framework=name, devices=devices)


def open_once(contender: PlannedContender) -> Found:
    description = framework(contender.framework)
    if contender.device not in description.devices:
        return Found(missing=f"{description.title} does not run on {contender.device}")
    try:
        with WorkerProcess(contender.interpreter, contender) as worker:
            worker.send_open(precision="float32", tf32=False)
            return Found(**worker.receive())
    except WorkerDied as death:
        return Found(missing=death.reason)


def load_plan(folders: Folders) -> Plan:
    """Put the plan together from what was asked for and what has been found so far.

    Raises:
        RecordError: `study.json` is not there, or it or a probe is damaged.
    """
    asked = read_json(folders.study, Asked)
    study = parse(asked.configuration)
    probes = {
        entry.framework: read_json(folders.probe(entry.framework), Probe).devices
        for entry in study.contenders
        if folders.probe(entry.framework).exists()
    }
    unknown = Found(missing="not looked for yet")
    planned = list(contenders(study, len(available_cores())))
    for contender in planned:
        found = probes.get(contender.framework, {}).get(contender.device, unknown)
        contender.missing = contender.missing or found.missing
        contender.versions = found.versions
    return Plan(
        machine=asked.machine,
        command=asked.command,
        configuration=asked.configuration,
        contenders=planned,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.plan", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--configfile", type=Path, nargs="+", help="later files go over earlier")
    source.add_argument("--study", type=Path, help="results/<machine>/<study>, with study.json")
    parser.add_argument("--framework", help="with --study: probe this one")
    arguments = parser.parse_args()

    def note(text: str) -> None:
        print(text, file=sys.stderr)

    try:
        if arguments.configfile:
            study, machine = read(arguments.configfile), fingerprint()
            folders = Folders(Path("results") / machine / study.study)
            files = " ".join(map(str, arguments.configfile))
            ask(folders, study, machine, f"python -m workflows.plan --configfile {files}")
            names = list(dict.fromkeys(entry.framework for entry in study.contenders))
        else:
            folders = Folders(arguments.study)
            study = load_study(folders)
            names = [arguments.framework]
        for name in names:
            write_json(folders.probe(name), look(study, name, note))
    except (ConfigurationError, PlanError, RecordError, ValueError) as error:
        note(str(error))
        return 1
    if arguments.configfile:
        print(folders.root)
    return 0


def load_study(folders: Folders) -> Configuration:
    """The configuration alone. Raises RecordError."""
    return parse(read_json(folders.study, Asked).configuration)


def ask(folders: Folders, study: Configuration, machine: str, command: str) -> None:
    """Write `study.json`."""
    configuration = study.model_dump(mode="json")
    write_json(folders.study, Asked(machine=machine, command=command, configuration=configuration))


if __name__ == "__main__":
    sys.exit(main())

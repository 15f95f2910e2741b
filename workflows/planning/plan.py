"""The plan: who meets whom, and who cannot, known before any time is spent.

A study's folder holds `study.json`, what was asked for, and `probes/<framework>.json`, what
was found of each framework; together they make the `Plan` that every later stage reads.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from frameworks.device import DEVICES, HOST
from frameworks.registry import framework, is_pitfall, own_environment
from workflows.machine.fingerprint import available_cores
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.configuration import Configuration, Scope
from workflows.planning.isolated import interpreter
from workflows.records.folders import Folders
from workflows.records.schema import NOOP, Entrant, Record
from workflows.records.storage import read_json, write_json


class PlanError(Exception):
    """A study that cannot be run as configured on this machine."""


class PlannedContender(Entrant):
    """A contender with the interpreter it runs under, and why it cannot, if so."""

    interpreter: str
    required: bool
    missing: str = ""
    versions: dict[str, str] = {}


class StudyRequest(Record):
    """`study.json`: a configuration, for one machine."""

    machine: str
    cores: int  # what `all` threads means there
    command: str  # how the study was started, for the report to repeat
    configuration: dict[str, Any]


class Detected(Record):
    """What a probe of one framework on one device found: why it cannot run, if so."""

    missing: str = ""
    versions: dict[str, str] = {}


class Detection(Record):
    """`probes/<framework>.json`: a framework as found under its interpreter, by surface."""

    framework: str
    devices: dict[str, Detected]


class Plan(Record):
    """A configuration applied to one machine."""

    machine: str
    command: str
    configuration: dict[str, Any]
    contenders: list[PlannedContender]
    controls: list[PlannedContender] = []
    harness: list[PlannedContender] = []  # what computes nothing, if wanted

    @cached_property
    def study(self) -> Configuration:
        return parse(self.configuration)

    @property
    def measuring(self) -> dict[str, Any]:
        """The configuration as far as it can change what a contest measures."""
        return self.study.measured(Scope.CONCLUSIONS, Scope.CERTIFICATES)

    @property
    def entrants(self) -> list[PlannedContender]:
        """All that take turns in a contest, or would if they could."""
        return [*self.contenders, *self.controls, *self.harness]

    @property
    def runnable(self) -> list[PlannedContender]:
        return [contender for contender in self.contenders if not contender.missing]

    @property
    def reference(self) -> PlannedContender:
        """The contender that certificates refer to: the reference framework's first variant
        without a trap on the processor with fewest threads, else the first that can run at all.

        Raises:
            PlanError: none can; the message says why of each.
        """
        ranked = sorted(
            self.runnable,
            key=lambda c: (
                "float64" not in framework(c.framework).precisions,
                c.framework != self.study.reference,
                not DEVICES[c.device].is_host,
                c.threads,
            ),
        )
        found = next((contender for contender in ranked if not is_pitfall(contender)), None)
        if not found:
            reasons = "\n  ".join(f"{c.name}: {c.missing}" for c in self.contenders)
            raise PlanError(f"no contender can run here:\n  {reasons}")
        return found


def contenders(study: Configuration, cores: int) -> Iterator[PlannedContender]:
    """Every contender of the configuration, in its order; `all` threads become a number."""
    seen = set()
    for entry in study.contenders:
        python = interpreter(study, entry.framework)
        for variant in entry.variants:
            for device in entry.devices or study.devices:
                for asked in entry.threads or study.threads:
                    contender = PlannedContender(
                        framework=entry.framework,
                        variant=variant,
                        device=device,
                        threads=cores if asked == "all" else asked,
                        interpreter=python,
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


def controls(
    study: Configuration, planned: Iterable[PlannedContender]
) -> Iterator[PlannedContender]:
    """The controls of those that can run here, or of one of them: of the reference framework
    and the configured variant if possible, on the processor, with the fewest threads."""
    asked = study.controls
    able = [contender for contender in planned if not (contender.missing or is_pitfall(contender))]
    if not asked or not able:
        return
    if asked.of == "reference":
        able = [
            min(
                able,
                key=lambda c: (
                    c.framework != study.reference, c.variant != asked.variant,
                    not DEVICES[c.device].is_host, c.threads,
                ),
            )
        ]  # fmt: skip
    for contender in able:
        for label, spin, pause in asked.kinds:
            name = f"{contender.variant}+{label}"
            update = {"variant": name, "runs": contender.variant, "spin": spin, "pause": pause}
            yield contender.model_copy(update=update)


def nothing() -> PlannedContender:
    return PlannedContender(
        framework=NOOP,
        variant="default",
        device=HOST.name,
        threads=1,
        interpreter=sys.executable,
        required=False,
    )


def load_plan(folders: Folders) -> Plan:
    """Put the plan together from what was asked for and what has been found so far.

    Raises:
        RecordError: `study.json` is not there, or it or a probe is damaged.
        PlanError: a contender marked `required` cannot run.
    """
    asked = read_json(folders.study, StudyRequest)
    study = understood(asked)
    probes = {
        entry.framework: read_json(folders.probe(entry.framework), Detection).devices
        for entry in study.contenders
        if folders.probe(entry.framework).exists()
    }
    unknown = Detected(missing="not looked for yet")
    planned = list(contenders(study, asked.cores))
    for contender in planned:
        found = probes.get(contender.framework, {}).get(surface(contender), unknown)
        contender.missing = contender.missing or found.missing
        contender.versions = found.versions
        if contender.required and contender.missing and found is not unknown:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    return Plan(
        machine=asked.machine,
        command=asked.command,
        configuration=asked.configuration,
        contenders=planned,
        controls=list(controls(study, planned)),
        harness=[nothing()] if study.harness else [],
    )


def surface(contender: Entrant) -> str:
    """What a probe distinguishes of one framework: `cpu`, `cpu KERAS_BACKEND=jax`."""
    own = own_environment(contender)
    return " ".join([contender.device, *(f"{name}={value}" for name, value in own.items())])


def contenders_here(study: Configuration, name: str | None = None) -> list[PlannedContender]:
    """The contenders on this machine, of one framework or of all."""
    every = contenders(study, len(available_cores()))
    return [contender for contender in every if name in (None, contender.framework)]


def understood(asked: StudyRequest) -> Configuration:
    try:
        return parse(asked.configuration)
    except ConfigurationError as error:  # a framework of then that is not here now, say
        raise PlanError(str(error)) from None


def load_study(folders: Folders) -> Configuration:
    """The configuration alone. Raises RecordError or PlanError."""
    return understood(read_json(folders.study, StudyRequest))


def ask(folders: Folders, study: Configuration, machine: str, command: str) -> None:
    """Write `study.json`."""
    configuration = study.model_dump(mode="json")
    cores = len(available_cores())
    write_json(
        folders.study,
        StudyRequest(machine=machine, cores=cores, command=command, configuration=configuration),
    )

"""The plan: the contenders that take turns in a contest, and why others cannot.

A study's folder holds `study.json`, the request, and `detections/<framework>.json`, what was
detected of each framework. Together they make the `Plan` that every later stage reads.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from frameworks.device import HOST
from frameworks.registry import framework, is_ranked, own_variables
from frameworks.workloads.datasets.pixels import OWN, STORED
from workflows.machine.fingerprint import available_cores
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.configuration import Configuration
from workflows.planning.entries import Scope
from workflows.planning.isolated import interpreter
from workflows.records.earlier import renamed_keys
from workflows.records.folders import Folders
from workflows.records.limits import MachineName, Threads
from workflows.records.schema import MACHINE, Entrant, Record
from workflows.records.storage import read_json, write_json

MOST_A_CORE = 4  # threads, in a study of more threads than cores


class PlanError(Exception):
    """A study that cannot be run as configured on this machine."""


def require_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Raises PlanError if the study has nothing of this kind under this name."""
    there = set(known)
    if name not in there:
        raise PlanError(f"the study has no {kind} {name!r} (it has: {', '.join(sorted(there))})")


class PlannedContender(Entrant):
    """A contender with its interpreter, and the reason if it cannot run."""

    interpreter: str
    required: bool
    missing: str = ""
    versions: dict[str, str] = {}

    @property
    def process(self) -> tuple[object, ...]:
        """A key that is equal for contenders in one process: a contender's controls share one, and
        so do its loaders, because starting each would take longer than all their mini-batches. The
        framework's own loader has another, which it may end."""
        own = bool(self.runs), bool(self.loader), self.loader.startswith(OWN)
        return self.framework, self.built, self.device, self.threads, *own


class StudyRequest(Record):
    """`study.json`: a configuration, for one machine."""

    local: ClassVar[bool] = True

    machine: MachineName
    cores: Threads  # what `all` threads means there
    command: str  # how the study was started, for the report to repeat
    configuration: dict[str, Any]
    todo: list[str] = []  # the results that this run makes, if Snakemake has listed them
    former: dict[str, tuple[int, int]] = {}  # of these, what `stamp` says of earlier ones


class Detected(Record):
    """One framework as detected on one device, and the reason if it cannot run. `failed`: it ended
    or raised an error, instead of saying what is missing."""

    missing: str = ""
    failed: bool = False
    versions: dict[str, str] = {}


class Detection(Record):
    """`detections/<framework>.json`: a framework as detected under its interpreter, by surface."""

    framework: str
    devices: dict[str, Detected]


class Plan(Record):
    """A configuration applied to one machine."""

    machine: MachineName
    command: str
    configuration: dict[str, Any]
    contenders: list[PlannedContender]
    controls: list[PlannedContender] = []
    uncompared: list[PlannedContender] = []  # of `UNCOMPARED`, as configured

    @cached_property
    def study(self) -> Configuration:
        return parse(self.configuration)

    @property
    def measuring(self) -> dict[str, Any]:
        """The configuration as far as it can change what a contest measures."""
        values = self.study.measured(Scope.CONCLUSIONS, Scope.CERTIFICATES)
        return {**values, "reference": self.study.reference_framework}

    @property
    def entrants(self) -> list[PlannedContender]:
        """All contenders of a contest, including contenders that cannot run."""
        return [*self.contenders, *self.controls, *self.uncompared]

    @property
    def runnable(self) -> list[PlannedContender]:
        return [contender for contender in self.contenders if not contender.missing]

    @property
    def reference(self) -> PlannedContender:
        """The contender that certificates refer to: the reference framework's first ranked
        variant on the processor with fewest threads, else the first that can run at all.

        Raises:
            PlanError: none can; the message says why of each.
        """
        ranked = sorted(
            self.runnable,
            key=lambda c: (
                not framework(c.framework).has_float64(c.device),
                c.framework != self.study.reference_framework,
                not c.on_host,
                c.threads,
            ),
        )
        found = next((contender for contender in ranked if is_ranked(contender)), None)
        if not found:
            reasons = "\n  ".join(f"{c.name}: {c.missing}" for c in self.contenders)
            raise PlanError(f"no contender can run here:\n  {reasons}")
        return found


def contenders(study: Configuration, cores: int) -> Iterator[PlannedContender]:
    """Every contender of the configuration, in its order, with `all` threads as a number."""
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
                    if contender.threads > cores * (MOST_A_CORE if study.oversubscribe else 1):
                        contender.missing = (
                            f"{contender.threads} threads asked for, {cores} processor cores here"
                        )
                    yield contender


def controls(
    study: Configuration, planned: Iterable[PlannedContender]
) -> Iterator[PlannedContender]:
    """The controls of all contenders that can run here, or of one: preferably of the reference
    framework, in the configured variant, on the processor, with the fewest threads."""
    asked = study.controls
    able = [contender for contender in planned if not contender.missing and is_ranked(contender)]
    if not asked or not able:
        return
    if asked.of == "reference":
        able = [
            min(
                able,
                key=lambda c: (
                    c.framework != study.reference_framework, c.variant != asked.variant,
                    not c.on_host, c.threads,
                ),
            )
        ]  # fmt: skip
    for contender in able:
        for label, slowed_by in asked.kinds:
            changes = {"variant": f"{contender.variant}+{label}", "runs": contender.variant}
            yield contender.model_copy(update={**changes, "slowed_by": slowed_by})


def loaded(study: Configuration, planned: Iterable[PlannedContender]) -> Iterator[PlannedContender]:
    """Each contender that can run here once more with each loader of the study, and with stored
    mini-batches in the process of ours, which all loaders are compared with. The framework's own
    loader is missing if its adapter offers none."""
    for contender in planned:
        if study.loaders and not contender.missing and is_ranked(contender):
            description = framework(contender.framework)
            without = f"{description.title}'s adapter offers no loader of its own"
            for loader in (STORED, *study.loaders):
                variant = f"{contender.variant}+{loader}"
                changes = {"variant": variant, "runs": contender.variant, "loader": loader}
                if loader.startswith(OWN) and not description.loader:
                    changes["missing"] = without
                yield contender.model_copy(update=changes)


def uncompared(
    study: Configuration, planned: Iterable[PlannedContender]
) -> Iterator[PlannedContender]:
    """The frameworks that take turns but are not compared: no-op on one thread, the machine on
    every number of threads that a contender can run on here."""
    counts = sorted({contender.threads for contender in planned if not contender.missing})
    for name in study.uncompared:
        for variant in framework(name).variants:
            for threads in counts if name == MACHINE else [1]:
                yield PlannedContender(
                    framework=name,
                    variant=variant,
                    device=HOST.name,
                    threads=threads,
                    interpreter=sys.executable,
                    required=False,
                )


def load_plan(folders: Folders) -> Plan:
    """Put the plan together from the request and from what each detection found.

    Raises:
        RecordError: `study.json` is not there, or it or a detection is damaged.
        PlanError: a contender marked `required` cannot run.
    """
    request = read_json(folders.study, StudyRequest)
    study = configuration_of(request, folders)
    detections = {
        entry.framework: read_json(folders.detection(entry.framework), Detection).devices
        for entry in study.contenders
        if folders.detection(entry.framework).exists()
    }
    unknown = Detected(missing="not looked for yet")
    planned = list(contenders(study, request.cores))
    for contender in planned:
        found = detections.get(contender.framework, {}).get(surface(contender), unknown)
        contender.missing = contender.missing or found.missing
        contender.versions = found.versions
        if contender.required and contender.missing and found is not unknown:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    return Plan(
        machine=request.machine,
        command=request.command,
        configuration=renamed_keys(request.configuration)[0],
        contenders=planned,
        controls=[*controls(study, planned), *loaded(study, planned)],
        uncompared=list(uncompared(study, planned)),
    )


def surface(contender: Entrant) -> str:
    """What a detection distinguishes of one framework: `cpu`, `cpu KERAS_BACKEND=jax`."""
    own = own_variables(contender)
    return " ".join([contender.device, *(f"{name}={value}" for name, value in own.items())])


def contenders_here(study: Configuration, name: str | None = None) -> list[PlannedContender]:
    """The contenders on this machine, of one framework or of all."""
    every = contenders(study, len(available_cores()))
    return [contender for contender in every if name in (None, contender.framework)]


def running(study: Configuration) -> list[PlannedContender]:
    """The contenders that most machines can run: those on the processor, or all if none is."""
    every = contenders_here(study)
    return [one for one in every if one.on_host] or every


def configuration_of(request: StudyRequest, folders: Folders) -> Configuration:
    """The checked configuration. Raises PlanError, for example if a framework is gone."""
    try:
        return parse(request.configuration, lambda _: folders.study)
    except ConfigurationError as error:
        raise PlanError(str(error)) from None


def load_study(folders: Folders) -> Configuration:
    """The configuration alone. Raises RecordError or PlanError."""
    return configuration_of(read_json(folders.study, StudyRequest), folders)


def write_request(
    folders: Folders,
    study: Configuration,
    machine: str,
    command: str,
    todo: Iterable[str] = (),
    cores: int | None = None,
) -> None:
    """Write `study.json`, for this machine or for one with so many `cores`."""
    listed = list(todo)
    request = StudyRequest(
        machine=machine,
        cores=cores or len(available_cores()),
        command=command,
        configuration=study.model_dump(mode="json"),
        todo=listed,
        former={name: found for name in listed if (found := stamp(folders.root / name))},
    )
    write_json(folders.study, request)


def stamp(path: Path) -> tuple[int, int] | None:
    """What differs when a file or folder is written anew, whatever the clock says; None if there
    is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns

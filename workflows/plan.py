"""The plan: who meets whom, and who cannot, known before any time is spent.

`python -m workflows.plan --configfile config/study.yaml --out plan.json`
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from frameworks.registry import framework
from workflows.configuration import Configuration, ConfigurationError, parse, read
from workflows.machine import available_cores, fingerprint
from workflows.process import WorkerDied, WorkerProcess
from workflows.records import Contender, Record, write_json


class PlanError(Exception):
    """A study that cannot be run as configured on this machine."""


class PlannedContender(Contender):
    """A contender with the interpreter it runs under, and why it cannot, if so."""

    interpreter: str
    required: bool
    missing: str = ""
    versions: dict[str, str] = {}


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
    def reference(self) -> PlannedContender | None:
        """The contender that certificates refer to: the reference framework's first variant
        on the processor with fewest threads, else the first that can run at all."""
        ranked = sorted(
            self.runnable,
            key=lambda c: (c.framework != self.study.reference, c.device != "cpu", c.threads),
        )
        return ranked[0] if ranked else None


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


def probe(contender: PlannedContender) -> tuple[str, dict[str, str]]:
    """Open the framework on the device for a moment: the reason why not ("" if it works)
    and its versions. Costs one import."""
    description = framework(contender.framework)
    if contender.device not in description.devices:
        return f"{description.title} does not run on {contender.device}", {}
    try:
        with WorkerProcess(contender.interpreter, contender) as worker:
            worker.send_open(precision="float32", tf32=False)
            opened = worker.receive()
    except WorkerDied as death:
        return death.reason, {}
    return opened.get("missing", ""), opened.get("versions", {})


def make(study: Configuration, command: str, note: Callable[[str], None] = print) -> Plan:
    """Apply a configuration to this machine.

    Raises:
        PlanError: a contender marked `required` cannot run, or none can.
    """
    found = list(contenders(study, len(available_cores())))
    probes: dict[tuple[str, str, str], tuple[str, dict[str, str]]] = {}
    for contender in found:
        key = (contender.framework, contender.device, contender.interpreter)
        if key not in probes:
            note(f"looking for {contender.framework} on {contender.device} ...")
            probes[key] = probe(contender.model_copy(update={"threads": 1}))
        reason, contender.versions = probes[key]
        contender.missing = contender.missing or reason
    for contender in found:
        if contender.missing and contender.required:
            raise PlanError(f"{contender.name} is required, but: {contender.missing}")
    for reason in dict.fromkeys(c.missing for c in found if c.missing):
        note(f"without {', '.join(c.name for c in found if c.missing == reason)}: {reason}")
    plan = Plan(
        machine=fingerprint(),
        command=command,
        configuration=study.model_dump(mode="json", by_alias=True),
        contenders=found,
    )
    if not plan.runnable:
        raise PlanError("no contender can run here:\n  " + "\n  ".join(
            f"{contender.name}: {contender.missing}" for contender in found
        ))  # fmt: skip
    return plan


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.plan", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--configfile", type=Path, nargs="+", help="later files go over earlier")
    source.add_argument("--configuration", type=json.loads, help="the same as one JSON value")
    parser.add_argument("--command", default="", help="how this study was started, for the report")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        if arguments.configfile:
            study = read(arguments.configfile)
        else:
            study = parse(arguments.configuration)
        plan = make(study, arguments.command, note=lambda text: print(text, file=sys.stderr))
    except (ConfigurationError, PlanError) as error:
        print(error, file=sys.stderr)
        return 1
    write_json(arguments.out, plan)
    return 0


if __name__ == "__main__":
    sys.exit(main())

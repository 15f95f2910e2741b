"""A whole study without Snakemake: the commands of the rules, one after the other.

`python -m workflows.stages.run --configfile FILE ...` lays the files over config/study.yaml.
It keeps the results that it has made before and that are up to date. A command that fails leaves
out only what needs its results; the report has the rest. Data sets and the reference's weights,
which are large, are made only for what has to be measured or certified.
"""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

from frameworks.workloads.datasets.batches import INPUTS
from workflows.environments.stage import attempt
from workflows.machine import guardian
from workflows.machine.fingerprint import fingerprint
from workflows.output import INTERRUPTED, explained
from workflows.planning import provenance
from workflows.planning.code import content_hash
from workflows.planning.configfiles import DEFAULT, ConfigurationError, located
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import environment, isolated
from workflows.planning.opening import NotReady, opening, require_ready
from workflows.planning.plan import write_request
from workflows.planning.replicates import certifying, contests_key, counting
from workflows.records.folders import Folders
from workflows.records.machine_folder import machine_files
from workflows.records.schema import Record
from workflows.records.storage import RecordError, read_json, write_json
from workflows.stages.commands import COMMANDS

CERTIFICATES, CONTESTS, REPORT = "certificates", "contests", "report"


class Made(Record):
    """`made.json`: the key that each result was made under."""

    local: ClassVar[bool] = True

    keys: dict[str, str] = {}


class Quoted(str):
    """Words of a command line that are quoted already, also if the rule does not write `:q`."""

    def __new__(cls, value: object) -> "Quoted":
        return super().__new__(
            cls, shlex.join(map(str, value if isinstance(value, list) else [value]))
        )

    def __format__(self, how: str) -> str:
        return str(self)


class Run:
    """One study on this machine. `failed` counts the commands that failed."""

    def __init__(self, study: Configuration, folders: Folders) -> None:
        self.study, self.folders, self.failed = study, folders, 0
        self.record = folders.root / "made.json"
        self.made = read_json(self.record, Made) if self.record.exists() else Made()
        self.broken: set[str] = set()
        self.frameworks = list(dict.fromkeys(entry.framework for entry in study.contenders))

    def everything(self, until: str = REPORT) -> None:
        """All commands, in the order that the rules' priorities give them. Records are collected
        however early this ends."""
        study, folders = self.study, self.folders
        for name in self.frameworks:
            if isolated(study, name):
                self.environment(name)
        detected = [self.detect(name) for name in self.frameworks]
        if all(detected):
            for workload in study.workloads:
                self.certify(workload)
            if until != CERTIFICATES:
                self.contests()
        out = Path("reports") / study.study
        machine = out / "machines" / folders.root.parent.name
        if self.command("collect", "collect", folder=folders.root, out=machine) and until == REPORT:
            there = [one for one in sorted(machine.parent.iterdir()) if machine_files(one)]
            self.command("report", "report", folders=there, out=out)
        self.command("failures", "failures")

    def environment(self, name: str) -> bool:
        number = attempt(self.folders, name)
        return self.make(
            "environment", f"environment-{name}", [self.folders.environment(name)],
            [environment(name).key, number], framework=name, attempt=number,
        )  # fmt: skip

    def detect(self, name: str) -> bool:
        """Detect a framework, and again after each attempt to build an environment it lacks."""
        key = [provenance.detection_key(self.study, name), attempt(self.folders, name)]
        return self.make(
            "detect", f"detect-{name}", [self.folders.detection(name)], key, framework=name
        )

    def prepare(self, workload: str) -> bool:
        key = [provenance.dataset_key(self.study, workload)]
        results = [self.folders.dataset(workload), self.folders.data / workload / INPUTS]
        return self.make("prepare", f"{workload}-prepare", results, key, workload=workload)

    def reference(self, workload: str) -> bool:
        return self.prepare(workload) and self.make(
            "reference", certifying(workload, None), [self.folders.reference(workload)],
            self.reference_key(workload), workload=workload,
        )  # fmt: skip

    def reference_key(self, workload: str) -> list[str]:
        first = provenance.reference_framework(self.study)
        return [
            provenance.dataset_key(self.study, workload),
            provenance.certificate_key(self.study, workload, first),
        ]

    def certify(self, workload: str) -> None:
        """Certify all frameworks on a workload, after the reference."""
        for name in self.frameworks:
            log, result = certifying(workload, name), self.folders.certificate(workload, name)
            own = provenance.certificate_key(self.study, workload, name)
            self.make(
                "certify", log, [result], [*self.reference_key(workload), own],
                partial(self.reference, workload), workload=workload, framework=name,
            )  # fmt: skip

    def contests(self) -> None:
        """In a study with `minutes`, the first contest of each group fixes the number of all."""
        study, folders = self.study, self.folders
        first = [self.contest(group, 1) for group in study.groups]
        if study.minutes is not None:
            if not all(first):
                return
            key = [study.minutes, study.replicates, contests_key(study)]
            if not self.make("replicates", "replicates", [folders.replicates], key):
                return
        for replicate in counting(folders, study)[1:]:
            for group in study.groups:
                self.contest(group, replicate)

    def contest(self, group: str, replicate: int) -> bool:
        study, folders = self.study, self.folders
        own = study.groups[group]
        data = [provenance.dataset_key(study, name) for name in own]
        return self.make(
            "contest", f"{group}-{replicate}",
            [folders.batches(group, replicate), folders.contest(group, replicate)],
            [*data, provenance.contest_key(study, group)],
            lambda: all(self.prepare(name) for name in own), group=group, replicate=replicate,
        )  # fmt: skip

    def make(
        self,
        rule: str,
        log: str,
        results: Sequence[Path],
        key: Sequence[object],
        needs: Callable[[], bool] = lambda: True,
        **values: object,
    ) -> bool:
        """Make results, and first what that `needs`, unless they were made under this key. Returns
        whether they are there."""
        name, now = results[0].relative_to(self.folders.root).as_posix(), content_hash(key)
        if self.made.keys.get(name) == now and all(path.exists() for path in results):
            return True
        if name in self.broken or not needs():
            return False
        if self.made.keys.pop(name, None):  # what a stopped command leaves was made under no key
            write_json(self.record, self.made)
        for path in results:
            if path.is_file() and path != self.folders.replicates:  # the former number counts
                path.unlink()
        if not self.command(rule, log, **values):
            self.broken.add(name)
            return False
        self.made.keys[name] = now
        write_json(self.record, self.made)
        return True

    def command(self, rule: str, log: str, **values: object) -> bool:
        """Run the command of a rule, as Snakemake would. Returns whether it succeeded."""
        file = self.folders.logs / f"{log}.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        values = {"study": self.folders.root, **values}
        words = SimpleNamespace(**{key: Quoted(value) for key, value in values.items()})
        text = COMMANDS[rule].format(params=words, wildcards=words, log=Quoted(file))
        status = subprocess.run(["bash", "-euo", "pipefail", "-c", text]).returncode
        if status and rule != "failures":  # whose own last line says how to go on
            print(f"This failed with exit status {status}:\n  {text}", file=sys.stderr)
        self.failed += bool(status)
        return not status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.stages.run", description=__doc__)
    parser.add_argument(
        "--configfile", type=Path, nargs="+", default=[], help="later files go over earlier"
    )
    parser.add_argument(
        "--until", choices=[CERTIFICATES, CONTESTS, REPORT], default=REPORT,
        help="the last that is made (default: %(default)s)",
    )  # fmt: skip
    arguments = parser.parse_args()
    files = arguments.configfile
    command = ["python", "-m", "workflows.stages.run", *(["--configfile", *files] if files else [])]
    command += ["--until", arguments.until] if arguments.until != REPORT else []
    again = os.environ.setdefault("SAMESTEP_AGAIN", Quoted(command))
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    os.environ["PATH"] = os.pathsep.join(places)
    guardian.announce()
    try:
        study, where = located([DEFAULT, *files])
        machine = fingerprint()
        if study.machines:
            raise NotReady("machines: nodes of a cluster need Snakemake (docs/cluster.md)")
        folders = Folders(Path("results") / machine / study.study)
        require_ready(study, where)
        report = f"reports/{study.study}/report.html"
        lines = opening(study, folders, where, report, again, snakemake=False)
        print(*lines, sep="\n", file=sys.stderr)
        write_request(folders, study, machine, again)
        run = Run(study, folders)
        run.everything(arguments.until)
    except (ConfigurationError, NotReady, RecordError, ValueError, OSError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. What is finished is kept; go on with:\n  {again}", file=sys.stderr)
        return INTERRUPTED
    return bool(run.failed)


if __name__ == "__main__":
    sys.exit(main())

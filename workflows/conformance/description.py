"""Whether a framework can be read about where it is not installed, and leads to its adapter."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

from analysis.format import count
from frameworks.contract import Framework
from frameworks.oracle.mistakes import CATALOGUE
from workflows.conformance.outcome import Finding, broken, holds
from workflows.conformance.rule import Rule
from workflows.conformance.subject import Subject
from workflows.planning.code import ROOT
from workflows.worker.process import WorkerDied

NAME = re.compile(r"[a-z][a-z0-9_.-]*")
PRECISIONS = ("float32", "float64")
ALONE = """
import importlib.metadata as metadata, json, sys
name, own, *distributions = sys.argv[1:]
blocked = {module for module, owners in metadata.packages_distributions().items()
           if {owner.lower() for owner in owners} & {d.lower() for d in distributions}} - {own}

class Blocked:
    def find_spec(self, module, path=None, target=None):
        if module.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{module} is not to be imported by the description")

sys.meta_path.insert(0, Blocked())
from frameworks.registry import UnknownFramework, framework
try:
    framework(name)
    print(json.dumps([sorted(blocked), ""]))
except UnknownFramework as error:
    print(json.dumps([sorted(blocked), str(error)]))
"""


def description(subject: Subject) -> Finding:
    described = subject.description
    if wrong := list(oddities(described)):
        return broken("; ".join(wrong), "correct the Framework that describes it, as said")
    own = described.adapter.partition(":")[0].partition(".")[0]
    packages = [*described.distributions, *described.companions]
    command = [sys.executable, "-c", ALONE, described.name, own, *packages]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if run.returncode:
        words = (run.stderr.strip().splitlines() or [""])[-1]
        return broken(f"loading it ends the process: {words}", "import nothing but the contract")
    blocked, error = json.loads(run.stdout.splitlines()[-1])
    if error:
        return broken(
            f"where the framework is not installed: {error}",
            "import the framework in the adapter's module alone, never where FRAMEWORK is",
        )
    try:
        subject.opened("float32", subject.device, subject.threads)
    except WorkerDied as death:
        return broken(
            f"the adapter {described.adapter!r} does not start: {death.reason}",
            "name it as 'module:Class', of a subclass of Adapter that has all methods of the "
            "contract; conditions that it cannot meet are Unavailable, nothing else is",
        )
    names = ", ".join(described.distributions) if blocked else "a package of its own"
    return holds(f"{count(len(described.variants), 'variant')}; readable without {names}")


def oddities(d: Framework) -> Iterator[str]:
    if not NAME.fullmatch(d.name):
        yield f"name {d.name!r}: lower-case letters, digits, _ . - only"
    yield from (f"variant {v!r}: lower-case letters, digits, _ . - only"
                for v in d.variants if not NAME.fullmatch(v))  # fmt: skip
    if "default" not in d.variants:
        yield "there is no variant 'default', the one of its own tutorial"
    yield from (f"variant {v!r} has no summary" for v, own in d.variants.items() if not own.summary)
    yield from (f"{field} is empty" for field in ("title", "install", "distributions", "devices")
                if not getattr(d, field))  # fmt: skip
    if not re.fullmatch(r"[\w.]+:\w+", d.adapter):
        yield f"adapter {d.adapter!r} is not 'module:Class'"
    if odd := set(d.devices) - {"cpu", "gpu"}:
        yield f"devices {', '.join(sorted(odd))}: cpu and gpu only"
    if "float32" not in d.precisions or set(d.precisions) - set(PRECISIONS):
        yield f"precisions {d.precisions}: float32, and float64 where there is it"
    for name, variant in d.variants.items():
        for deviation in variant.deviations:
            if deviation.mistake and deviation.mistake not in CATALOGUE:
                yield f"variant {name!r} declares the mistake {deviation.mistake!r}: there is none"


RULES = (
    Rule(
        "description",
        "What describes the framework can be read where it is not installed, its names hold, and "
        "it leads to an adapter that starts.",
        description,
    ),
)

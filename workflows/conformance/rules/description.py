"""Rules about what is read: a framework's description, and the source of its adapter."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from frameworks.contract import Framework
from frameworks.description import NAME
from frameworks.device import DEVICES
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.parsing import suggestion
from workflows.certify.judge import names
from workflows.conformance.engine import Finding, Rule, advised, broken, holds
from workflows.conformance.subject import Subject
from workflows.planning.code import ROOT
from workflows.worker.process import WorkerDied
from workflows.worker.sources import sources

PRECISIONS = ("float32", "float64")
DEVIATING = (*(f"optimiser.{kind}" for kind in OPTIMISERS), "state.batch_norm.variance")

# What an adapter's source has no business with.
MODULES = {"time", "timeit", "datetime", "argparse", "optparse", "click", "logging"}
CALLS = {"open", "print", "input", "perf_counter", "perf_counter_ns", "monotonic", "process_time"}
METHODS = {"open", "read_text", "write_text", "read_bytes", "write_bytes"}

# Loads the description while every package of the framework refuses to be imported.
ALONE = """
import importlib.metadata as metadata, json, sys
name, own, *distributions = sys.argv[1:]
blocked = {module for module, owners in metadata.packages_distributions().items()
           if {owner.lower() for owner in owners} & {d.lower() for d in distributions}}
blocked -= {own, "numpy"}  # which samestep itself needs

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
    try:
        subject.opened("float32", subject.device, subject.threads)
    except WorkerDied as death:
        return broken(
            f"the adapter {described.adapter!r} does not start: {death.reason}",
            "name it as 'module:Class', of a subclass of Adapter that has all methods of the "
            "contract; conditions that it cannot meet are Unavailable, nothing else is",
        )
    if error:
        return advised(
            f"where the framework is not installed: {error}",
            "import the framework in the adapter's module alone, never where FRAMEWORK is",
        )
    names = ", ".join(described.distributions) if blocked else "a package of its own"
    many = len(described.variants)
    return holds(f"{many} variant{'s' * (many != 1)}; readable without {names}")


def oddities(d: Framework) -> Iterator[str]:
    if not NAME.fullmatch(d.name):
        yield f"name {d.name!r}: lower-case letters, digits, _ . - only"
    yield from (f"variant {v!r}: lower-case letters, digits, _ . - only"
                for v in d.variants if not NAME.fullmatch(v))  # fmt: skip
    yield from (f"variant {v!r} has no summary" for v, own in d.variants.items() if not own.summary)
    yield from (f"{field} is empty" for field in ("title", "install", "distributions", "devices")
                if not getattr(d, field))  # fmt: skip
    if not re.fullmatch(r"[\w.]+:\w+", d.adapter):
        yield f"adapter {d.adapter!r} is not 'module:Class'"
    if odd := set(d.devices) - {*DEVICES}:
        yield f"devices {', '.join(sorted(odd))}: {' and '.join(DEVICES)} only"
    if "float32" not in d.precisions or set(d.precisions) - set(PRECISIONS):
        yield f"precisions {d.precisions}: float32, and float64 where there is it"
    for name, variant in d.variants.items():
        for deviation in variant.deviations:
            component, mistake = deviation.component, deviation.mistake
            if not (fits := names(component)):
                yield (
                    f"variant {name!r} declares a deviation of {component!r}"
                    f"{suggestion(component, DEVIATING)}; {', '.join(DEVIATING)} may deviate"
                )
            elif mistake and mistake not in fits:
                yield (
                    f"variant {name!r} declares the mistake {mistake!r}, which is none of "
                    f"{component}{suggestion(mistake, fits)}; it may be {', '.join(fits)}"
                )


def source(subject: Subject) -> Finding:
    files = sources(subject.description.adapter.partition(":")[0])
    if wrong := [said for file in files for said in trespasses(file)]:
        return broken(
            "; ".join(wrong),
            "take it out of the adapter: the harness has the clock, the files and the printing",
        )
    lines = {file.name: len(file.read_text("utf-8").splitlines()) for file in files}
    return holds(", ".join(f"{name} {count} lines" for name, count in lines.items()))


def trespasses(file: Path) -> Iterator[str]:
    """What this file does that is the harness's, each with its line."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        where = f"{file.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            method = getattr(node.func, "attr", "")
            if called in CALLS or method in METHODS:
                yield f"{where} calls {called or method}()"
            continue
        else:
            continue
        yield from (f"{where} imports {name}" for name in sorted(names & MODULES))


RULES = (
    Rule(
        "description",
        "What describes the framework can be read where it is not installed, its names hold, and "
        "it leads to an adapter that starts.",
        description,
    ),
    Rule(
        "source",
        "The adapter looks at no clock, opens no file, prints nothing and reads no command line.",
        source,
        after=("description",),
        advice=True,
    ),
)

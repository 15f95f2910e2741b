"""What each result depends on, as a short hash. Snakemake repeats a job if its key changes.

The code of `analysis/` is in no key. An adapter's code is in the keys of the contests and
certificates that it takes part in.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from platform import python_version
from typing import Any

from frameworks.registry import bundled, framework, present, versions
from frameworks.workloads import to_dict
from frameworks.workloads.datasets.mnist import FOLDER as MNIST_FOLDER
from workflows.planning.code import ROOT, adapter_files, content_hash, files_hash
from workflows.planning.configuration import Configuration
from workflows.planning.entries import Scope
from workflows.planning.isolated import environment, isolated
from workflows.planning.plan import contenders_here, surface

IMPORTED = r"^\s*from frameworks\.(\w+)[. ]"

# The code that results depend on, by folder. Adapters' folders are beside these files, and are
# part of the keys of only their own results.
TASK = (
    "frameworks/caches.py",
    "frameworks/conditions.py",
    "frameworks/contract.py",
    "frameworks/description.py",
    "frameworks/device.py",
    "frameworks/elementwise.py",
    "frameworks/formats.py",
    "frameworks/memory.py",
    "frameworks/operations.py",
    "frameworks/reading.py",
    "frameworks/registry.py",
    "frameworks/workloads",
    "workflows/worker",
)
CERTIFYING = (*TASK, "frameworks/oracle", "workflows/certify", "workflows/records/thresholds.py")
MEASURING = (*TASK, "workflows/measure", "workflows/machine/energy.py")


def borrowed(place: Path) -> set[Path]:
    """The folders of other frameworks whose code an adapter builds on."""
    files = place.rglob("*.py") if place.is_dir() else [place]
    named = {name for file in files for name in re.findall(IMPORTED, file.read_text("utf-8"), re.M)}
    return {ROOT / "frameworks" / name for name in named & bundled()} - {place}


@cache
def installed(name: str, interpreter: str) -> dict[str, str]:
    """Versions of a framework's distributions under an interpreter, and of NumPy and Python,
    without an import; empty if the framework is not installed."""
    description = framework(name)
    if interpreter == sys.executable:
        found = versions(description)
        return found and {**found, **present(["numpy"]), "python": python_version()}
    question = (
        "import importlib.metadata as m, json, platform, sys\n"
        "there = {d.name: d.version for d in m.distributions()}\n"
        "found = {n: there[n] for n in sys.argv[1:] if n in there}\n"
        "extra = {'numpy': there.get('numpy'), 'python': platform.python_version()}\n"
        "print(json.dumps({**found, **extra} if found else {}))"
    )
    try:
        answer = subprocess.run(
            [interpreter, "-c", question, *description.distributions, *description.companions],
            capture_output=True,
            check=True,
            timeout=60,
        )
        elsewhere: dict[str, str] = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):  # `require_ready` says why
        return {}
    return elsewhere


def interpreted(study: Configuration, name: str) -> list[Any]:
    """What a key holds about the interpreter. Its path is part of a key only if the configuration
    gives it, so that another way to start Snakemake repeats no measurement. A virtual environment
    is known by its pinned packages, before it is built."""
    if isolated(study, name):
        return ["isolated", environment(name).key]
    configured = study.interpreters.get(name, "")
    return [configured, installed(name, configured or sys.executable)]


def framework_key(study: Configuration, name: str) -> list[Any]:
    description = framework(name)
    if description.unloadable:
        return ["unloadable"]
    place = adapter_files(description)
    return [files_hash(place, *borrowed(place)), interpreted(study, name)]


def detection_key(study: Configuration, name: str) -> str:
    """The key of a detection. The adapter's code is not part of it, because an edit seldom changes
    whether a framework can run."""
    own = contenders_here(study, name)
    return content_hash([sorted({surface(c) for c in own}), interpreted(study, name)])


def contest_key(study: Configuration, group: str) -> str:
    """Everything the numbers of a group's contests depend on: every key of the configuration
    without a scope, what the others lead to on this machine, and the code that measures."""
    asked = [c.name + c.missing for c in contenders_here(study)]
    names = sorted({entry.framework for entry in study.contenders}) + study.uncompared
    return content_hash(
        {
            "workloads": [to_dict(study.workload(name)) for name in study.groups[group]],
            "contenders": asked,
            # which chooses the contenders of controls
            "controls": [files_hash("workflows/planning/plan.py"), study.reference_framework],
            "frameworks": [framework_key(study, name) for name in names],
            "configuration": study.measured(*Scope),
            "code": files_hash(*MEASURING),
        }
    )


def certificate_key(study: Configuration, workload: str, name: str) -> str:
    own = [c.name + c.missing for c in contenders_here(study, name)]
    return content_hash(
        {
            "workload": to_dict(study.workload(workload)),
            "contenders": own,
            "framework": framework_key(study, name),
            "certificate": study.certificate.model_dump(),
            "turns": [study.contest.warmup, study.contest.rounds, study.contest.turn],
            "optimisers": study.other_optimisers(workload),
            "seed": study.seed,
            "tf32": study.tf32,  # float32 is proven as it is timed
            "code": files_hash(*CERTIFYING),
        }
    )


def reference_framework(study: Configuration) -> str:
    """The framework that will be the reference, as far as is known without an import."""
    names = [study.reference_framework, *(entry.framework for entry in study.contenders)]
    for name in names:
        if isolated(study, name) or installed(name, study.interpreters.get(name, sys.executable)):
            return name
    return study.reference_framework


def dataset_key(study: Configuration, workload: str) -> str:
    """The key of a data set. It depends on whether a folder of MNIST is given, but not on which,
    because the content is checked by its SHA-256."""
    parts: dict[str, Any] = {
        "workload": to_dict(study.workload(workload)),
        "seed": study.seed,
        "code": files_hash("frameworks/workloads", "workflows/stages/prepare.py"),
    }
    if study.workload(workload).dataset.kind == "mnist":
        given = bool(study.mnist.folder or os.environ.get(MNIST_FOLDER))
        parts["mnist"] = [study.mnist.source, study.mnist.split, given]
    return content_hash(parts)

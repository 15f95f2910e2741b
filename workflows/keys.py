"""What each result depends on, as short hashes: Snakemake redoes a job when its key changes.

Editing `analysis/` is in none of them; editing an adapter is in the keys of the contests
and certificates it takes part in.
"""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from frameworks.contract import Framework
from frameworks.registry import framework, versions
from frameworks.workloads import to_dict
from frameworks.workloads.datasets.mnist import FOLDER as MNIST_FOLDER
from workflows.code import content_hash, files_hash
from workflows.configuration import Configuration
from workflows.machine import available_cores
from workflows.plan import contenders

TASK = ("frameworks/contract.py", "frameworks/workloads", "workflows/worker.py")
CERTIFYING = (*TASK, "workflows/certify.py", "workflows/tracing.py")
MEASURING = (*TASK, "workflows/contest.py", "workflows/process.py", "workflows/turns.py")


def adapter_files(description: Framework) -> Path:
    """The folder of a framework's adapter, or its file where it is a module of its own."""
    spec = importlib.util.find_spec(description.adapter.partition(":")[0])
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{description.name}: no module {description.adapter}")
    file = Path(spec.origin)
    return file.parent if (file.parent / "__init__.py").exists() else file


@cache
def installed(name: str, interpreter: str) -> dict[str, str]:
    """Versions of a framework's distributions under an interpreter, without importing it."""
    description = framework(name)
    if interpreter == sys.executable:
        return versions(description)
    question = (
        "import importlib.metadata as m, json, sys\n"
        "there = {d.name: d.version for d in m.distributions()}\n"
        "print(json.dumps({n: there[n] for n in sys.argv[1:] if n in there}))"
    )
    try:
        answer = subprocess.run(
            [interpreter, "-c", question, *description.distributions, *description.companions],
            capture_output=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, str] = json.loads(answer.stdout)
    return found


def framework_key(study: Configuration, name: str) -> dict[str, Any]:
    interpreter = study.interpreters.get(name, sys.executable)
    return {
        "adapter": files_hash(adapter_files(framework(name))),
        "interpreter": interpreter,
        "versions": installed(name, interpreter),
    }


def probe_key(study: Configuration, name: str) -> str:
    """Not the adapter: an edit of it seldom changes whether a framework can run, and what
    depends on its code has that in its own key."""
    own = [c for c in contenders(study, len(available_cores())) if c.framework == name]
    interpreter = study.interpreters.get(name, sys.executable)
    asked = sorted({(c.device, c.required) for c in own})
    return content_hash([asked, interpreter, installed(name, interpreter)])


def contest_key(study: Configuration, workload: str) -> str:
    """Everything a contest's numbers depend on; not the number of replicates."""
    asked = [c.name for c in contenders(study, len(available_cores()))]
    names = sorted({entry.framework for entry in study.contenders})
    return content_hash(
        {
            "workload": to_dict(study.workload(workload)),
            "contenders": asked,
            "frameworks": [framework_key(study, name) for name in names],
            "contest": study.contest.model_dump(),
            "tf32": study.tf32,
            "seed": study.seed,
            "code": files_hash(*MEASURING),
        }
    )


def certificate_key(study: Configuration, workload: str, name: str) -> str:
    own = [c.name for c in contenders(study, len(available_cores())) if c.framework == name]
    return content_hash(
        {
            "workload": to_dict(study.workload(workload)),
            "contenders": own,
            "framework": framework_key(study, name),
            "certificate": study.certificate.model_dump(),
            "seed": study.seed,
            "code": files_hash(*CERTIFYING),
        }
    )


def reference_framework(study: Configuration) -> str:
    """The framework that will be the reference, as far as can be told without importing."""
    names = [study.reference, *(entry.framework for entry in study.contenders)]
    for name in names:
        if installed(name, study.interpreters.get(name, sys.executable)):
            return name
    return study.reference


def dataset_key(study: Configuration, workload: str) -> str:
    return content_hash(
        {
            "workload": to_dict(study.workload(workload)),
            "mnist": study.mnist.model_dump(),
            "folder": os.environ.get(MNIST_FOLDER),
            "seed": study.seed,
            "code": files_hash("frameworks/workloads", "workflows/prepare.py"),
        }
    )

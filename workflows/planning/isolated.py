"""The virtual environment that a framework's workers run in: under `isolate: true`, and if the
study compares versions of it.

This module defines the content of an environment, its folder, and its key before it is
built. `workflows/environments/stage.py` builds it. Environments lie in the user's cache, because
they take up to gigabytes and all studies and clones share them.
"""

import json
import os
import re
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, version
from pathlib import Path
from platform import python_version

from frameworks.contract import Framework
from frameworks.registry import bundled, entry_points, framework
from frameworks.workloads.datasets.mirrors import cache_folder
from workflows.planning.code import adapter_files, content_hash, files_hash
from workflows.planning.configuration import Configuration

# The caller's variables that lead Python to packages outside of an environment.
LEAKING = ("CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Environment:
    """What one framework's environment holds.

    `wanted` are arguments of `uv pip install`, and relative paths in them start at `beside`.
    `constraints` pins all other packages, one a line. `key` identifies the content and its
    versions. `refusal` says why the environment must not be built, if so.
    """

    framework: str
    wanted: tuple[str, ...]
    constraints: str
    beside: Path
    key: str
    refusal: str = ""

    @property
    def folder(self) -> Path:
        # Machines that need different builds of the same packages may share one cache.
        place = content_hash([self.key, sysconfig.get_platform(), sys.base_prefix])
        return environments_folder() / f"{self.framework}-{place}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def environments_folder() -> Path:
    return cache_folder().absolute() / "environments"


def isolated(study: Configuration, name: str) -> bool:
    """Whether the study builds an environment for this framework: a version always has one."""
    description = framework(name)
    wanted = study.isolate or description.version
    return bool(wanted) and name not in study.interpreters and not description.unloadable


def interpreter(study: Configuration, name: str) -> str:
    """The Python that runs a framework's workers. An isolated one may not exist yet."""
    if isolated(study, name):
        return str(environment(name).python)
    return study.interpreters.get(name, sys.executable)


def environment(name: str) -> Environment:
    """The environment of a framework, from its requirements file and the lock beside that."""
    description = framework(name)
    code = adapter_files(description)
    beside = code if code.is_dir() else code.parent
    (wanted, refusal), pins, text = by_name(description), [], ""
    if description.requirements:
        file = beside / description.requirements
        (wanted, refusal), text = (("-r", str(file)), ""), read(file)
        lock = file.with_suffix(".lock")
        if description.version:
            wanted = of_version(description, statements(text))
            if description.version not in text:
                lock = beside / "versions" / f"{description.version}.lock"
        pins = statements(read(lock))
        # All workers use the study's own NumPy, whatever a lock says.
        pins = [pin for pin in pins if not re.match(r"(?i)numpy\b", pin)]
    numpy = f"numpy=={version('numpy')}"
    # A package's adapter is copied into the environment, so an edit needs another environment.
    copied = "" if description.unversioned in bundled() else files_hash(code)
    pinned = statements(text) if text and not description.version else list(wanted)
    return Environment(
        framework=name,
        wanted=(*wanted, numpy),
        constraints="".join(f"{pin}\n" for pin in pins),
        beside=beside,
        key=content_hash([pinned, pins, numpy, python_version(), copied]),
        refusal=refusal,
    )


def of_version(description: Framework, required: Sequence[str]) -> tuple[str, ...]:
    """The requirements as arguments of uv, with another version of the framework's own packages."""
    pattern = "|".join(map(re.escape, description.distributions))
    found: list[str] = []
    for one in required:
        own = re.sub(rf"^({pattern})==[^;\s]+", rf"\g<1>=={description.version}", one)
        found += own.split() if own.startswith("-") else [own]
    return tuple(found)


def by_name(description: Framework) -> tuple[tuple[str, ...], str]:
    """What to install for a framework without a requirements file, or why nothing must be.

    A package that offers a framework is installed again from its original source, and the
    framework with it. A package that is only on a path is refused because an index may hold
    another author's package with the same name.
    """
    entry = entry_points().get(description.unversioned)
    own = entry.dist if entry else None
    exactly = f"=={description.version}" * bool(description.version)
    named = tuple(f"{name}{exactly}" for name in description.distributions[:1])
    if description.unversioned in bundled() or own is None:
        return named, ""
    itself = source(own)
    if not itself:
        return (), (
            f"{own.name} was not installed by pip or uv, so its source is unknown: install it, "
            "or give its Framework a file of `requirements`"
        )
    if own.name in description.distributions and exactly:
        return named, ""
    return (itself, *(name for name in named if name != own.name)), ""


def source(own: Distribution) -> str:
    """The requirement that installs a package again from where it came; "" if that is unknown."""
    url = json.loads(own.read_text("direct_url.json") or "{}").get("url", "")  # PEP 610
    if url:
        return f"{own.name} @ {url}"
    known = (own.read_text("INSTALLER") or "").strip() in ("pip", "uv")
    return f"{own.name}=={own.version}" * known


def statements(text: str) -> list[str]:
    """Lines without comments and white space, so that rewording a comment rebuilds nothing."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def read(file: Path) -> str:
    """A file's text, or "" if it is missing; uv then names it in its error."""
    return file.read_text("utf-8") if file.is_file() else ""


def sealed(interpreter: str) -> dict[str, str]:
    """The environment variables of a worker under this interpreter.

    They are the caller's. An isolated environment's interpreter gets none that lead to packages
    from elsewhere.
    """
    return without_leaks() if ours(interpreter) else dict(os.environ)


def ours(interpreter: str) -> bool:
    """Whether an interpreter belongs to an environment that samestep builds."""
    return Path(interpreter).is_relative_to(environments_folder())


def without_leaks() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in LEAKING}
    return {**kept, "PYTHONNOUSERSITE": "1"}

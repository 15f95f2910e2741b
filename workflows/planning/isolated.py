"""Which environment of its own a framework has under `isolate: true`: what is to be installed
into it, and where it is. `workflows/environments/stage.py` builds it.

Environments are in the user's cache and not in a clone: they take up to gigabytes, and all
studies and clones that ask for the same share them.
"""

import json
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from frameworks.contract import Framework
from frameworks.registry import entry_points, folders, framework
from frameworks.workloads.datasets.mirrors import cache_folder
from workflows.planning.code import adapter_files, content_hash, files_hash
from workflows.planning.configuration import Configuration

# Of the caller's: they lead to packages that an environment does not hold, or an installer away.
LEAKING = (
    "CONDA_PREFIX", "PIP_EDITABLE", "PIP_PREFIX", "PIP_PYTHON", "PIP_REQUIREMENT", "PIP_ROOT",
    "PIP_TARGET", "PIP_USER", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "UV_PYTHON",
    "UV_SYSTEM_PYTHON", "VIRTUAL_ENV",
)  # fmt: skip

INSTALLERS = ("pip", "uv")


@dataclass(frozen=True)
class Environment:
    """What one framework's environment holds, as words for pip; `beside` is where relative paths
    count from, `constraints` the pins of all that comes along, one a line."""

    framework: str
    wanted: tuple[str, ...]
    constraints: str
    beside: Path
    key: str  # of what is in it, in which versions
    refusal: str = ""  # why it must not be built

    @property
    def folder(self) -> Path:
        # A cache may be shared by machines on which the same has to be built otherwise.
        place = content_hash([self.key, sysconfig.get_platform(), sys.base_prefix])
        return environments_folder() / f"{self.framework}-{place}"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def environments_folder() -> Path:
    return cache_folder().absolute() / "environments"


def isolated(study: Configuration, name: str) -> bool:
    return study.isolate and name not in study.interpreters


def interpreter(study: Configuration, name: str) -> str:
    """The Python that a framework's workers run under; it need not be there yet."""
    if isolated(study, name):
        return str(environment(name).python)
    return study.interpreters.get(name, sys.executable)


def environment(name: str) -> Environment:
    """The environment of a framework, from its requirements file and the lock beside that."""
    description = framework(name)
    code = adapter_files(description)
    beside = code if code.is_dir() else code.parent
    (wanted, refusal), pinned, text = by_name(description), "", ""
    if description.requirements:
        file = beside / description.requirements
        (wanted, refusal), text = (("-r", str(file)), ""), read(file)
        # NumPy is the study's own, so that a lock's has no say.
        pinned = re.sub(r"(?im)^numpy\b.*\n?", "", read(file.with_suffix(".lock")))
    numpy = f"numpy=={version('numpy')}"
    # A package's adapter is copied into the environment: an edited one has to be copied again.
    copied = "" if name in folders() else files_hash(code)
    asked = statements(text) or list(wanted)
    return Environment(
        framework=name,
        wanted=(*wanted, numpy),
        constraints="".join(f"{line}\n" for line in statements(pinned)),
        beside=beside,
        key=content_hash([asked, statements(pinned), numpy, python_version(), copied]),
        refusal=refusal,
    )


def by_name(description: Framework) -> tuple[tuple[str, ...], str]:
    """A package that offers a framework, from where it was installed, and the framework.

    One that merely lies on a path is refused: what an index has under its name is another's.
    """
    entry = entry_points().get(description.name)
    own = entry.dist if entry else None
    named = description.distributions[:1]
    if description.name in folders() or own is None:
        return named, ""
    url = json.loads(own.read_text("direct_url.json") or "{}").get("url", "")  # PEP 610
    if not url and (own.read_text("INSTALLER") or "").strip() not in INSTALLERS:
        return (), (
            f"{own.name} was not installed by {' or '.join(INSTALLERS)}, so it is not known where "
            "it can be had: install it, or give its Framework a file of `requirements`"
        )
    itself = f"{own.name} @ {url}" if url else f"{own.name}=={own.version}"
    return (itself, *(name for name in named if name != own.name)), ""


def statements(text: str) -> list[str]:
    """Lines without comments and white space, so that a reworded comment builds nothing anew."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def read(file: Path) -> str:
    """A file's text; "" where there is none, of which the installer will say more."""
    return file.read_text() if file.is_file() else ""


def sealed(interpreter: str) -> dict[str, str]:
    """The caller's environment variables for a worker under this interpreter: all of them, but
    where it is that of an isolated environment, none that lead to packages from elsewhere."""
    return without_leaks() if ours(interpreter) else dict(os.environ)


def ours(interpreter: str) -> bool:
    return Path(interpreter).is_relative_to(environments_folder())


def without_leaks() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in LEAKING}
    return {**kept, "PYTHONNOUSERSITE": "1"}

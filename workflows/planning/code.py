"""Which code ran: version and commit for people, hashes for the keys of results."""

import hashlib
import importlib.util
import json
import os
import subprocess
import tomllib
from dataclasses import asdict, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from frameworks.contract import Framework
from workflows.records.schema import Code

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ("results", "reports", "logs", ".snakemake")
COMMIT = "COMMIT"  # a file of a copy without a repository, as `samestep bundle` writes it
DIGITS = 16


def code(root: Path = ROOT) -> Code:
    """The version, the commit, and whether files differ from that commit, apart from what a
    study writes.

    Outside a git clone, or without git, the commit is the one that the file `COMMIT` names, or "",
    and no file counts as different.
    """
    if git(root, "rev-parse", "--show-prefix") != "":
        # No repository, or one that merely has this folder somewhere inside, like a .venv.
        noted = root / COMMIT
        commit = noted.read_text("utf-8").strip() if noted.is_file() else ""
        return Code(version=version(root), commit=commit, dirty=False)
    commit = git(root, "rev-parse", "--verify", "--quiet", "HEAD") or ""
    changes = git(root, "status", "--porcelain", "--", ".", *(f":(exclude){o}" for o in OUTPUT))
    return Code(version=version(root), commit=commit, dirty=commit != "" and changes != "")


def version(root: Path = ROOT) -> str:
    """The version in pyproject.toml, else of the installed package, else "unknown"."""
    try:
        # First, because the metadata of an editable install may be older than the clone.
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        return str(project["version"])
    except (OSError, ValueError, KeyError):
        pass
    try:
        return metadata.version("samestep")
    except metadata.PackageNotFoundError:
        return "unknown"


def git(root: Path, *arguments: str) -> str | None:
    """What git prints about the repository of `root`; None if git cannot run there."""
    # A hook's GIT_DIR would point elsewhere, and a lock would disturb other jobs.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # A clone mounted into a container belongs to another user; its code is trusted already.
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
            env={**clean, "GIT_OPTIONAL_LOCKS": "0"},
        ).stdout.strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def files_hash(*paths: str | Path) -> str:
    """Hash of the names and contents of files, and of every *.py under folders.

    Relative paths start at `ROOT`, and so do the names that are hashed. The name of a path
    elsewhere starts with its last part, so that its place of installation does not matter.

    Raises:
        FileNotFoundError: a file or folder is missing.
    """
    named: dict[str, Path] = {}
    for path in ((ROOT / given).resolve() for given in paths):
        base = ROOT if path.is_relative_to(ROOT) else path.parent
        files = path.rglob("*.py") if path.is_dir() else [path]
        named |= {file.relative_to(base).as_posix(): file for file in files}
    digest = hashlib.sha256()
    for name, file in sorted(named.items()):
        if "__pycache__" not in name.split("/"):
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:DIGITS]


def adapter_files(description: Framework) -> Path:
    """The folder of a framework's adapter, or its file if the adapter is a single module."""
    spec = importlib.util.find_spec(description.adapter.partition(":")[0])
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{description.name}: no module {description.adapter}")
    file = Path(spec.origin)
    return file.parent if (file.parent / "__init__.py").exists() else file


def content_hash(value: Any) -> str:
    """Hash of a value as JSON with sorted keys; models and dataclasses count as mappings.

    Raises:
        TypeError: it holds something without an order or a JSON form, like a set.
        ValueError: it holds a number that is not finite.
    """
    canonical = json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=mapping
    )
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGITS]


def mapping(value: Any) -> Any:
    """A model or dataclass as a dictionary."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form to take a hash of")

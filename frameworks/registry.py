"""Finds frameworks: folders beside this file, and entry points of installed packages."""

import importlib
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from frameworks.contract import Adapter, Conditions, Framework, Variant
from frameworks.description import VERSIONED

GROUP = "samestep.frameworks"  # entry points: `name = "module:FRAMEWORK"`
LOADING_S = 60.0  # within which a package describes its framework
# An environment variable, as JSON: what came of the modules (`abacus`) and the descriptions
# (`abacus:FRAMEWORK`) that this command has tried to load.
LOADED = "SAMESTEP_LOADED"
REASON = 1000  # characters of why a package cannot be loaded
ALIVE = 77  # the exit code of a process that a package's import has neither ended nor killed
KILLED = [-one for one in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)]
# Exceptions are no matter here: `described` reports them.
TRIAL = f"""
import importlib, os, sys
try:
    importlib.import_module(sys.argv[1])
finally:
    os._exit({ALIVE})
"""


class UnknownFramework(KeyError):
    """No folder and no entry point has this name, or its description cannot be loaded."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """The names of all frameworks, whether or not they are installed."""
    return sorted({*bundled(), *entry_points()})


class AnyVariant(dict[str, Variant]):
    """Whatever variants a configuration names of a framework that cannot be loaded."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Variant:
        return Variant("")


def framework(name: str) -> Framework:
    """A framework's description, by its name. A folder takes precedence over an entry point. Only
    the module of the description is imported. `jax-0.10.1` is `jax` in that version. If
    `try_to_load` could not load it, the description is `unloadable`.

    Raises:
        UnknownFramework: no framework has this name (the message lists all names), or it cannot
            be loaded.
    """
    if own := one_version(name):
        return own
    if reason := tried().get(place(name)):
        return Framework(name, name, (), "", "", AnyVariant(), unloadable=reason)
    return described(name)


def described(name: str) -> Framework:
    """The description that a folder or a package has. Raises UnknownFramework."""
    try:
        if name in bundled():
            offered = importlib.import_module(f"frameworks.{name}").FRAMEWORK
        elif name in (packages := entry_points()):
            offered = packages[name].load()
        else:
            raise UnknownFramework(
                f"unknown framework {name!r} (known: {', '.join(names())}; packages are those of "
                f"{sys.executable})"
            )
    except (UnknownFramework, KeyboardInterrupt):
        raise
    except BaseException as error:  # the import runs other people's code
        raise UnknownFramework(
            f"framework {name!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(offered, Framework):
        raise UnknownFramework(f"framework {name!r}: its FRAMEWORK is no Framework: {offered!r}")
    return offered


def try_to_load(name: str) -> None:
    """Import a framework's description, a package's in a process of its own first, so that an
    import that crashes or waits for ever ends nothing but that process. This process and those that
    it starts know what came of it: what cannot be loaded costs a study no other framework.

    Raises:
        UnknownFramework: somebody else has ended that process twice, or the machine lacks memory or
            files. The next run may load it, so it must not be measured without.
    """
    found = VERSIONED.fullmatch(name)
    own = found["base"] if found and name not in names() else name
    at, known = place(own), tried()
    if not at or at in known:
        return
    module = at.partition(":")[0]
    if own not in bundled() and module not in known:
        known[module] = fatal(module)
    known[at] = ""
    if reason := known.get(module):
        known[at] = f"framework {own!r} cannot be loaded: importing {module} {reason}"
    else:
        try:
            described(own)
        except UnknownFramework as error:
            if isinstance(error.__cause__, OSError | MemoryError):
                raise
            text = "".join(c if c.isprintable() else " " for c in str(error))
            known[at] = " ".join(text.split())[:REASON]
    os.environ[LOADED] = json.dumps(known)


def require_loadable(name: str) -> Framework:
    """The description of a framework. Raises UnknownFramework if it cannot be loaded."""
    try_to_load(name)
    if reason := framework(name).unloadable:
        raise UnknownFramework(reason)
    return framework(name)


def place(name: str) -> str:
    """Where a framework's description is (`abacus:FRAMEWORK`), "" if nothing has this name."""
    if name in bundled():
        return f"frameworks.{name}:FRAMEWORK"
    package = entry_points().get(name)
    return package.value if package else ""


def tried() -> dict[str, str]:
    """What was tried, and why it cannot be loaded, "" if it can."""
    with suppress(ValueError):
        found = json.loads(os.environ.get(LOADED, ""))
        if isinstance(found, dict):
            return {str(key): str(reason) for key, reason in found.items()}
    return {}


def fatal(module: str) -> str:
    """What an import does to its process, "" if the process outlives it. Raises UnknownFramework if
    it was killed twice."""
    command = [sys.executable, "-c", TRIAL, module]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    nothing = subprocess.DEVNULL
    for _ in range(2):
        try:
            code = subprocess.run(
                command, stdin=nothing, stdout=nothing, stderr=nothing, env=variables,
                timeout=LOADING_S, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"has not ended after {LOADING_S:g} s"
        if code not in KILLED:
            how = "signal" if code < 0 else "exit code"
            return "" if code == ALIVE else f"ends the process ({how} {abs(code)})"
    raise UnknownFramework(f"importing {module} was killed twice (signal {-code}): try again")


def one_version(name: str) -> Framework | None:
    """The description of one version of a framework; None if the name has no version."""
    found = VERSIONED.fullmatch(name)
    if not found or name in names() or found["base"] not in names():
        return None
    base, version = framework(found["base"]), found["version"]
    return replace(base, name=name, title=f"{base.title} {version}", version=version)


def is_pitfall(contender: Any) -> bool:
    """Whether the contender's variant is a pitfall; a contender has a framework and a variant."""
    return bool(framework(contender.framework).variants[contender.variant].pitfall)


def part_of(contender: Any) -> str:
    """Which part of a step the contender's variant is, "" for a whole step."""
    return framework(contender.framework).variants[contender.variant].part


def is_ranked(contender: Any) -> bool:
    """Whether the contender's variant is compared with other frameworks."""
    return framework(contender.framework).variants[contender.variant].ranked


def variables(contender: Any) -> dict[str, str]:
    """A contender's environment variables. Its variant's override its framework's."""
    description = framework(contender.framework)
    return {**description.variables, **own_variables(contender)}


def own_variables(contender: Any) -> dict[str, str]:
    """The environment variables of its variant. A control uses the variant that it runs."""
    variant = getattr(contender, "built", contender.variant)
    return dict(framework(contender.framework).variants[variant].variables)


@cache
def bundled() -> frozenset[str]:
    """The frameworks with a folder here. Their `__init__.py` defines `FRAMEWORK`."""
    files = Path(__file__).parent.glob("*/__init__.py")
    return frozenset(
        file.parent.name
        for file in files
        if re.search(r"^FRAMEWORK\b", file.read_text("utf-8"), re.M)
    )


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """What all packages offer, by name. It is read again once a folder of packages has changed."""
    return dict(read_entry_points(tuple((folder, changed(folder)) for folder in sys.path)))


def changed(folder: str) -> int:
    """When something was last added to a folder or removed from it, in nanoseconds; 0 if it is not
    there."""
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=1)
def read_entry_points(
    folders: tuple[tuple[str, int], ...],
) -> dict[str, importlib.metadata.EntryPoint]:
    """The same, found in `sys.path` as `folders` describe it: this reads more than a hundred
    packages."""
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}


def open_adapter(description: Framework, conditions: Conditions) -> Adapter:
    """Import a framework's adapter and apply the conditions. The import does not find the
    description's `optional_imports`. Only a worker process may call this.

    Raises:
        Unavailable: the conditions cannot be met here.
    """
    module, _, attribute = description.adapter.partition(":")
    with not_found(description.optional_imports):
        kind: type[Adapter] = getattr(importlib.import_module(module), attribute)
        return kind(conditions)


@contextmanager
def not_found(modules: Iterable[str]) -> Iterator[None]:
    """Nobody can import these modules meanwhile, unless they were imported before."""
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: cannot be found
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def versions(description: Framework) -> dict[str, str]:
    """The versions of its installed distributions and companions in this interpreter, found
    without an import. Empty if the framework is not installed."""
    installed = present(description.distributions)
    return installed and {**installed, **present(description.companions)}


def present(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found

"""Finds frameworks: folders beside this file, and installed packages by entry point."""

import importlib
import importlib.metadata
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from frameworks.contract import Adapter, Framework

GROUP = "samestep.frameworks"  # entry points: `name = "module:FRAMEWORK"`


class UnknownFramework(KeyError):
    """No folder and no entry point of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> list[str]:
    """All names there are, whether or not the frameworks are installed."""
    return sorted({*folders(), *entry_points()})


def framework(name: str) -> Framework:
    """One framework by name, a folder before an entry point; only its own module is imported.

    Raises:
        UnknownFramework: there is none of that name (those there are, are named), or the
            package that offers it cannot be loaded.
    """
    try:
        if name in folders():
            offered = importlib.import_module(f"frameworks.{name}").FRAMEWORK
        elif name in (packages := entry_points()):  # asked last, since all packages are looked at
            offered = packages[name].load()
        else:
            raise UnknownFramework(
                f"unknown framework {name!r} (known: {', '.join(names())}; packages are those of "
                f"{sys.executable})"
            )
    except UnknownFramework:
        raise
    except Exception as error:  # somebody else's code, at its import
        raise UnknownFramework(
            f"framework {name!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(offered, Framework):
        raise UnknownFramework(f"framework {name!r}: its FRAMEWORK is no Framework: {offered!r}")
    return offered


def is_pitfall(contender: Any) -> bool:
    """Whether the contender's variant is a pitfall; a contender has a framework and a variant."""
    return bool(framework(contender.framework).variants[contender.variant].pitfall)


def environment(contender: Any) -> dict[str, str]:
    """What its framework, and over that its variant, want set before the import."""
    description = framework(contender.framework)
    return {**description.environment, **own_environment(contender)}


def own_environment(contender: Any) -> dict[str, str]:
    """What its variant alone wants; a control is of the variant that it runs."""
    variant = getattr(contender, "built", contender.variant)
    return dict(framework(contender.framework).variants[variant].environment)


def folders() -> list[str]:
    """The folders here that say what they are: their `__init__.py` has a `FRAMEWORK`."""
    here = Path(__file__).parent
    return [file.parent.name for file in here.glob("*/__init__.py")
            if re.search(r"^FRAMEWORK\b", file.read_text(), re.M)]  # fmt: skip


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}


def adapter_class(description: Framework) -> type[Adapter]:
    """Import a framework's adapter. Only a worker process may call this."""
    module, _, attribute = description.adapter.partition(":")
    found: type[Adapter] = getattr(importlib.import_module(module), attribute)
    return found


def versions(description: Framework) -> dict[str, str]:
    """Versions of its installed distributions and their companions, in this interpreter,
    without importing them. Empty when it is not installed."""
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

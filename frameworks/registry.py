"""Finds frameworks: folders beside this file, and installed packages by entry point."""

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable
from pathlib import Path

from frameworks.contract import Adapter, Framework

GROUP = "samestep.frameworks"  # entry points: `name = "module:FRAMEWORK"`


class UnknownFramework(KeyError):
    """No folder and no entry point of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


def frameworks() -> dict[str, Framework]:
    """All known frameworks by name, whether or not they are installed; folders first."""
    found: dict[str, Framework] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:
            package = importlib.import_module(f"frameworks.{module.name}")
            if isinstance(getattr(package, "FRAMEWORK", None), Framework):
                found[package.FRAMEWORK.name] = package.FRAMEWORK
    for entry in importlib.metadata.entry_points(group=GROUP):
        if entry.name not in found:
            found[entry.name] = entry.load()
    return dict(sorted(found.items()))


def framework(name: str) -> Framework:
    """One framework by name. Raises UnknownFramework, naming those there are."""
    known = frameworks()
    if name not in known:
        raise UnknownFramework(f"unknown framework {name!r} (known: {', '.join(known)})")
    return known[name]


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

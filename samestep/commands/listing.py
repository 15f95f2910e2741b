"""`list`: every framework there is, and why one cannot be used here."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.markup import escape

from frameworks import registry
from frameworks.registry import UnknownFramework
from frameworks.workloads.parsing import suggestion
from samestep.commands import tables
from samestep.commands.problem import Problem


@dataclass(frozen=True)
class Seen:
    """A framework from outside: nothing but its description has been imported.

    `problem` says why it cannot be used here. `probed` has, for each of `devices` that was
    opened, why it cannot be used, "" where it can; it is empty where nobody looked.
    """

    name: str
    origin: str
    title: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    variants: dict[str, str] = field(default_factory=dict)
    pitfalls: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    probed: dict[str, str] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these")
    parser.add_argument("--probe", action="store_true", help="start each on each of its devices")
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    known = registry.names()
    for name in arguments.names:
        if name not in known:
            there = ", ".join(known)
            raise Problem(f"no framework {name!r}{suggestion(name, known)} (there are: {there})")
    found = [seen(name, arguments.probe) for name in arguments.names or known]
    if arguments.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        show(found)
    return 0


def seen(name: str, probe: bool) -> Seen:
    try:
        description = registry.framework(name)
    except UnknownFramework as error:
        return Seen(name, origin(name), problem=str(error))
    versions = registry.versions(description)
    missing = "" if versions else f"not installed: {description.install}"
    every = description.variants.items()
    return Seen(
        name,
        origin(name),
        description.title,
        versions,
        description.devices,
        {key: variant.summary for key, variant in every if not variant.pitfall},
        {key: variant.pitfall for key, variant in every if variant.pitfall},
        missing,
        {d: opened(name, d) for d in description.devices} if probe and versions else {},
    )


def opened(name: str, device: str) -> str:
    """Start the framework on the device in a process of its own: why it cannot, "" if it can."""
    from workflows.planning.plan import PlannedContender
    from workflows.stages.detect import open_once

    contender = PlannedContender(
        framework=name,
        variant="default",
        device=device,
        threads=1,
        interpreter=sys.executable,
        required=False,
    )
    return open_once(contender).missing


def origin(name: str) -> str:
    """The folder, or the package and its version."""
    if name in registry.folders():
        return f"frameworks/{name}/"
    entry = registry.entry_points()[name]
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"
    return f"package {package} ({entry.value})"


def show(found: Sequence[Seen]) -> None:
    out = tables.console()
    table = tables.table(out, "name", "here", "devices", "variants", "from")
    for one in found:
        table.add_row(one.name, here(one), devices(one), variants(one), escape(one.origin))
    out.print(table)


def here(one: Seen) -> str:
    if one.problem:
        return f"[red]{escape(one.problem)}[/]"
    return "\n".join(f"{name} {version}" for name, version in one.versions.items())


def devices(one: Seen) -> str:
    lines = []
    for device in one.devices:
        missing = one.probed.get(device)
        word = "" if missing is None else f": {missing}" if missing else ": works"
        lines.append(f"{device}{escape(word)}")
    return "\n".join(lines)


def variants(one: Seen) -> str:
    lines = [f"{name}: {escape(summary)}" for name, summary in one.variants.items()]
    many = len(one.pitfalls)
    more = [f"[dim]and {many} pitfall{'s' * (many > 1)}: --json lists them[/]"] if many else []
    return "\n".join(lines + more)

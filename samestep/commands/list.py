"""`list`: every framework that samestep finds, and why it cannot be used here."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.text import Text

from frameworks import registry
from frameworks.registry import UnknownFramework
from samestep.terminal import console, table, unknown


@dataclass(frozen=True)
class Seen:
    """A framework seen from outside: only its description has been imported.

    `problem` says why the framework cannot be used here. `detected` says of each device why the
    device cannot be used, "" if it can; it is empty without `--detect`.
    """

    name: str
    origin: str
    title: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    variants: dict[str, str] = field(default_factory=dict)
    pitfalls: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    detected: dict[str, str] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="show only these (default: all)")
    parser.add_argument(
        "--detect", action="store_true", help="start each framework on each of its devices"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    known = registry.names()
    for name in arguments.names:
        if name not in known:
            raise unknown("framework", name, known)
    found = [seen(name, arguments.detect) for name in arguments.names or known]
    if arguments.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        show(found)
    return 0


def seen(name: str, detect: bool) -> Seen:
    try:
        description = registry.require_loadable(name)
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
        {d: opened(name, d) for d in description.devices} if detect and versions else {},
    )


def opened(name: str, device: str) -> str:
    """Start the framework on the device in another process: why that fails, "" if it works."""
    from workflows.planning.plan import PlannedContender
    from workflows.stages.detect import open_once

    contender = PlannedContender(
        framework=name,
        variant=next(iter(registry.framework(name).variants)),
        device=device,
        threads=1,
        interpreter=sys.executable,
        required=False,
    )
    return open_once(contender).missing


def origin(name: str) -> str:
    """The folder that the framework comes from, or the package with its version."""
    if name in registry.bundled():
        return f"frameworks/{name}/"
    entry = registry.entry_points()[name]
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"
    return f"package {package} ({entry.value})"


def show(found: Sequence[Seen]) -> None:
    out = console()
    rows = table(out, "name", "here", "devices", "variants", "from")
    for one in found:
        rows.add_row(one.name, here(one), devices(one), variants(one), one.origin)
    out.print(rows)


def here(one: Seen) -> Text:
    if one.problem:
        return Text(one.problem, "red")
    return Text("\n".join(f"{name} {version}" for name, version in one.versions.items()))


def devices(one: Seen) -> str:
    lines = []
    for device in one.devices:
        missing = one.detected.get(device)
        word = "" if missing is None else f": {missing}" if missing else ": works"
        lines.append(f"{device}{word}")
    return "\n".join(lines)


def variants(one: Seen) -> Text:
    lines = [Text(f"{name}: {summary}") for name, summary in one.variants.items()]
    if many := len(one.pitfalls):
        lines.append(Text(f"and {many} pitfall{'s' * (many > 1)}: --json lists them", "dim"))
    return Text("\n").join(lines)

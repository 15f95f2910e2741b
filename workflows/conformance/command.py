"""`samestep check`: tells the author of an adapter, rule by rule, what holds."""

import argparse
import json
import sys

from rich.console import Console
from rich.text import Text

from frameworks.contract import Framework
from frameworks.registry import UnknownFramework, framework
from frameworks.workloads import CATALOGUE
from workflows.conformance.examined import Examined
from workflows.conformance.outcome import Outcome
from workflows.conformance.rules import RULES
from workflows.conformance.subject import Subject
from workflows.progress import Progress

HOLDS, BROKEN, UNCHECKED = 0, 1, 2
STYLES = {"holds": "green", "broken": "bold red", "does not apply": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the framework: a folder in frameworks/ or an entry point")
    parser.add_argument("--variant", default="default", help="which way to write it (default)")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of the processor (1)")
    parser.add_argument(
        "--workload", action="append", choices=list(CATALOGUE), metavar="W",
        help=f"certify on this one, may be repeated (all: {', '.join(CATALOGUE)})",
    )  # fmt: skip
    parser.add_argument("--interpreter", default=sys.executable, help="that has the framework")
    parser.add_argument("--quick", action="store_true", help="certificates of a few steps")
    parser.add_argument("--json", action="store_true", help="a list of objects, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """0: all rules hold; 1: one is broken; 2: it cannot be checked, and why."""
    try:
        description = framework(arguments.name)
        require_variant(description, arguments.variant)
    except (UnknownFramework, ValueError) as error:
        print(error, file=sys.stderr)
        return UNCHECKED
    title = f"check {arguments.name}"
    with Progress(len(RULES), title) as progress:
        outcomes: list[Outcome] = []
        with Subject(
            description,
            arguments.variant,
            arguments.device,
            arguments.threads,
            dict.fromkeys(arguments.workload or CATALOGUE),
            arguments.quick,
            arguments.interpreter,
            say=lambda text: progress.update(len(outcomes), text),
        ) as subject:
            if missing := subject.missing():
                progress.note(f"cannot be checked here: {missing}")
                return UNCHECKED
            examined = Examined(subject)
            for name in RULES:
                outcomes.append(examined.outcome(name))
    if arguments.json:
        print(json.dumps([outcome.as_dict() for outcome in outcomes], indent=1))
    else:
        show(outcomes)
    return BROKEN if any(o.finding.status == "broken" for o in outcomes) else HOLDS


def require_variant(description: Framework, variant: str) -> None:
    """Raises ValueError unless there is one of that name, to which the rules apply."""
    able = [name for name, own in description.variants.items() if not own.pitfall]
    if variant not in description.variants:
        raise ValueError(
            f"{description.name} has no variant {variant!r} (it has {', '.join(able)})"
        )
    if variant not in able:
        raise ValueError(f"{description.name}: {variant!r} is a pitfall, to which no rule applies")


def show(outcomes: list[Outcome]) -> None:
    """A line for each rule that holds, a paragraph for each that is broken."""
    console = Console(highlight=False, soft_wrap=True)
    width = max(len(outcome.rule) for outcome in outcomes)
    for outcome in outcomes:
        found = outcome.finding
        line = Text.assemble(
            (f"{found.status:<14}", STYLES[found.status]), f"  {outcome.rule:<{width}}  "
        )
        if found.status == "broken":
            console.print(line)
            console.print(Text(indented(outcome.paragraph())))
        else:
            console.print(line + Text(found.seen))
        for note in found.notes:
            console.print(Text(f"{'':<14}  {'':<{width}}  {note}", style="dim"))
    console.print(Text(summary(outcomes)))


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def summary(outcomes: list[Outcome]) -> str:
    """All of them counted, and what to mend first."""
    by = {status: [o for o in outcomes if o.finding.status == status] for status in STYLES}
    counts = ", ".join(f"{len(found)} {status}" for status, found in by.items())
    first = f"; mend {by['broken'][0].rule!r} first" if by["broken"] else ""
    waiting = sum(not outcome.finding.tried for outcome in outcomes)
    later = f" ({waiting} of them not tried before others hold)" if waiting else ""
    return f"{outcomes[0].contender}: {counts}{later}{first}"

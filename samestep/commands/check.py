"""`check`: shows, rule by rule, whether an adapter keeps the contract, and how to fix it."""

import argparse
import json
import shutil
import sys

from rich.console import Console
from rich.text import Text

from frameworks.contract import Framework
from frameworks.device import DEVICES, HOST
from frameworks.registry import UnknownFramework, names, require_loadable
from frameworks.workloads import CATALOGUE, SMALL
from samestep.terminal import Problem, unknown
from workflows.conformance.engine import Examined, Outcome
from workflows.conformance.rules import RULES
from workflows.conformance.subject import Subject
from workflows.machine.guardian import nothing_left
from workflows.planning.opening import no_python
from workflows.progress import Progress
from workflows.records.limits import THREADS

STYLES = {"holds": "green", "broken": "bold red", "advice": "yellow", "does not apply": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="the framework: a folder in frameworks/ or an entry point"
    )
    parser.add_argument("--variant", default="default", help="(default: %(default)s)")
    parser.add_argument("--device", choices=tuple(DEVICES), default=HOST.name)
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of the processor (default: 1)"
    )
    parser.add_argument(
        "--workload", action="append", choices=list(CATALOGUE), metavar="W",
        help="certify on this workload; may be repeated (default: "
        f"{', '.join(SMALL)}, or single operations if the framework has nothing else)",
    )  # fmt: skip
    parser.add_argument(
        "--interpreter", default=sys.executable, help="the Python that has the framework"
    )
    parser.add_argument(
        "--rule", action="append", metavar="R",
        help="try this rule and those that must hold first; may be repeated (default: all)",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="certificates of a few steps")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    """0 if no rule is broken (advice aside), 1 if a rule is, 2 if nothing can be checked here."""
    if arguments.name not in names():
        raise unknown("framework", arguments.name, names())
    if not 1 <= arguments.threads <= THREADS:
        raise Problem(f"--threads {arguments.threads}: at least 1, and {THREADS:,} at most")
    if not shutil.which(arguments.interpreter):
        raise Problem(f"--interpreter {arguments.interpreter}: no such program")
    if arguments.interpreter != sys.executable and (why := no_python(arguments.interpreter)):
        raise Problem(f"--interpreter {arguments.interpreter}: {why}")
    try:
        description = require_loadable(arguments.name)
    except UnknownFramework as error:
        raise Problem(str(error)) from None
    require_variant(description, arguments.variant)
    for name in arguments.rule or []:
        if name not in RULES:
            raise unknown("rule", name, RULES)
    title, rules = f"check {arguments.name}", arguments.rule or list(RULES)
    with Progress(len(rules), title) as progress, nothing_left():
        outcomes: list[Outcome] = []
        with Subject(
            description,
            arguments.variant,
            arguments.device,
            arguments.threads,
            arguments.workload and dict.fromkeys(arguments.workload),
            arguments.quick,
            arguments.interpreter,
            say=lambda text: progress.update(len(outcomes), text),
        ) as subject:
            if missing := subject.missing():
                progress.note(f"cannot be checked here: {missing}")
                return 2
            examined = Examined(subject, RULES)
            for name in rules:
                outcomes.append(examined.outcome(name))
            first = [n for n, own in examined.findings.items() if own.status == "broken"]
            outcomes[:0] = [examined.outcome(name) for name in first if name not in rules]
    if arguments.json:
        print(json.dumps([outcome.as_dict() for outcome in outcomes], indent=1))
    else:
        show(outcomes)
    return int(any(outcome.status == "broken" for outcome in outcomes))


def require_variant(description: Framework, variant: str) -> None:
    """Raises Problem unless the framework has this variant and the rules apply to it."""
    able = [name for name, own in description.variants.items() if own.ranked]
    if variant not in description.variants:
        raise Problem(f"{description.name} has no variant {variant!r} (it has {', '.join(able)})")
    if variant not in able:
        own = description.variants[variant]
        kind = "a part of a step" if own.part else "a pitfall" if own.pitfall else "reduced"
        raise Problem(f"{description.name}: {variant!r} is {kind}, to which no rule applies")


def show(outcomes: list[Outcome]) -> None:
    """A paragraph for each rule that does not hold, a line for each other rule."""
    console = Console(highlight=False, soft_wrap=True)
    width = max(len(outcome.rule) for outcome in outcomes)
    for outcome in outcomes:
        found = outcome.finding
        line = Text.assemble(
            (f"{outcome.status:<14}", STYLES[outcome.status]), f"  {outcome.rule:<{width}}  "
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
    """How many rules hold, are broken or do not apply, and which to fix first."""
    by = {status: [o for o in outcomes if o.status == status] for status in STYLES}
    counts = ", ".join(
        f"{len(found)} {status}" for status, found in by.items() if found or status != "advice"
    )
    first = f"; mend {by['broken'][0].rule!r} first" if by["broken"] else ""
    waiting = sum(not outcome.finding.tried for outcome in outcomes)
    later = f" ({waiting} of them not tried before others hold)" if waiting else ""
    return f"{outcomes[0].contender}: {counts}{later}{first}"

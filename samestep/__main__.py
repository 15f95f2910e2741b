"""The command `samestep`: everything that a person types, except `snakemake` itself."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from analysis.format import any_encoding
from samestep.terminal import Problem, unknown


class Command(NamedTuple):
    """A command's `summary` and a working `example`. Its module is imported only if it is run."""

    summary: str
    example: str


COMMANDS = {
    "list": Command("show the frameworks, and why one cannot be used here", "samestep list"),
    "new": Command(
        "begin an adapter for a framework of your own",
        "samestep new autograd --package --into ../samestep-autograd",
    ),
    "check": Command(
        "check an adapter against every rule of the contract", "samestep check pytorch --quick"
    ),
    "workload": Command(
        "show a workload layer by layer: shapes, parameters, work", "samestep workload mnist-cnn"
    ),
    "plan": Command(
        "say what a study would do, and refuse one that does not fit here", "samestep plan"
    ),
    "report": Command(
        "write a study's report again, from its records", "samestep report reference"
    ),
    "share": Command(
        "write a study's records into one file, for others to report on", "samestep share reference"
    ),
    "bundle": Command(
        "pack a study for a machine without internet: code, wheels, configuration, MNIST",
        "samestep bundle --configfile config/smoke.yaml --python 3.11 --gpu none",
    ),
    "compare": Command(
        "compare studies of different times, machines or versions",
        "samestep compare reference repeats/morning/second",
    ),
    "gpu": Command(
        "settle what a first hour on a GPU machine has to settle", "samestep gpu --list"
    ),
    "open": Command("open a study's report in a browser", "samestep open reference"),
    "validate": Command(
        "simulate studies with known ratios, and judge the report's method by them",
        "samestep validate --studies 1000 --out simulation.md --results simulation.json",
    ),
}
ABOUT = "The same training step, timed in every framework."
STUDY = "snakemake --cores 1"  # runs a study; samestep has no command for that


def main(words: Sequence[str]) -> int:
    """Run one command and return its exit status; without a command, print the overview.

    Raises SystemExit as argparse does: 0 after `--help`, 2 for options that cannot be used.
    """
    asked = next((word for word in words if not word.startswith("-")), "")
    try:
        if asked and asked not in COMMANDS:
            raise unknown("command", asked, COMMANDS)
        parser = overview()
        subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
        for name, command in COMMANDS.items():
            subparser = subparsers.add_parser(
                name,
                help=command.summary,
                description=f"{command.summary[0].upper()}{command.summary[1:]}.",
                epilog=f"Example:\n  {command.example}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            if name == asked:
                module = importlib.import_module(f"samestep.commands.{name}")
                module.add_arguments(subparser)
        if not words:
            parser.print_help()
            return 0
        arguments, others = parser.parse_known_args(words)
        if others:  # argparse would show the usage of `samestep` alone
            subparsers.choices[asked].error(f"unrecognized arguments: {' '.join(others)}")
        return int(module.run(arguments))
    except Problem as problem:
        from workflows.output import visible

        print(f"samestep: {visible(problem)}", file=sys.stderr)
        return 2


def overview() -> argparse.ArgumentParser:
    """The parser of `samestep` itself, whose help has one example of each command."""
    commands = [command.example for command in COMMANDS.values()]
    return argparse.ArgumentParser(
        prog="samestep",
        description=ABOUT,
        epilog="\n  ".join([f"To run a study: {STUDY}\n\nExamples:", *commands])
        + "\n\nsamestep COMMAND --help shows the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def command() -> int:
    """The `samestep` script."""
    from workflows.output import printing

    any_encoding()
    return printing("samestep", lambda: main(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(command())

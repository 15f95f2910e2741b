"""The frameworks as seen from the command line.

`samestep list`      who there is, and who can be used here
`samestep new`       begin an adapter for a framework of your own
`samestep check`     does an adapter keep the contract?
`samestep workload`  what a workload is, layer by layer
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from frameworks.workloads.parsing import suggestion
from samestep.commands.problem import Problem

COMMANDS = {
    "list": ("samestep.commands.listing", "who there is, and who can be used here"),
    "new": ("samestep.commands.new", "begin an adapter for a framework of your own"),
    "check": ("workflows.conformance.command", "does an adapter keep the contract?"),
    "workload": ("samestep.commands.workload", "what a workload is, layer by layer"),
}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="samestep", description="The same training step, timed in every framework."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = words[0] if words else "--help"
    if not asked.startswith("-") and asked not in COMMANDS:
        commands = ", ".join(COMMANDS)
        parser.error(f"no command {asked!r}{suggestion(asked, COMMANDS)} (there are: {commands})")
    for name, (module, summary) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        if name == asked:  # only the one asked for is imported
            command = importlib.import_module(module)
            command.add_arguments(subparser)
    arguments = parser.parse_args(words or [asked])
    try:
        return int(command.run(arguments))
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2


def command() -> int:
    """The `samestep` script."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(command())

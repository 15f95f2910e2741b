"""The frameworks as seen from the command line.

`python -m frameworks list`      who there is, and who can be used here
`python -m frameworks new`       begin an adapter for a framework of your own
`python -m frameworks check`     does an adapter keep the contract?
`python -m frameworks workload`  what a workload is, layer by layer
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from frameworks.commands.problem import Problem
from frameworks.workloads.parsing import suggestion

COMMANDS = {
    "list": ("frameworks.commands.listing", "who there is, and who can be used here"),
    "new": ("frameworks.commands.new", "begin an adapter for a framework of your own"),
    "check": ("workflows.conformance.command", "does an adapter keep the contract?"),
    "workload": ("frameworks.commands.workload", "what a workload is, layer by layer"),
}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m frameworks", description="Who is compared.")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

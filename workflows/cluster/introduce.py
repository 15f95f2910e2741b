"""Introduce: a node of a cluster says who it is, so that a study can be planned for it elsewhere.

`python -m workflows.cluster.introduce --kind NAME` writes `results/nodes/<kind>.json`. The command
needs the whole node, because a machine's name depends on the cores that a process may use.
"""

import argparse
import os
import platform
import re
import sys

from workflows.cluster.nodes import NODES, Identity
from workflows.machine.fingerprint import available_cores, fingerprint
from workflows.output import explained, printing
from workflows.planning.possible import NAME
from workflows.records.storage import write_json

IN_SLURM = "SLURMD_NODENAME"  # the node's name in SLURM, which may not be its host name


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.cluster.introduce", description=__doc__
    )
    parser.add_argument("--kind", required=True, help="a name under `machines`")
    kind = parser.parse_args().kind
    if not re.fullmatch(NAME, kind):
        parser.error(f"--kind {kind!r}: a name has letters, digits, - and _ only")
    try:
        identity = Identity(
            machine=fingerprint(),
            host=os.environ.get(IN_SLURM) or platform.node(),
            cores=len(available_cores()),
        )
        write_json(NODES / f"{kind}.json", identity)
    except (ValueError, OSError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    print(f"{kind}: node {identity.host}, {identity.machine}, {identity.cores} cores")
    return 0


if __name__ == "__main__":
    sys.exit(printing("introduce", main))

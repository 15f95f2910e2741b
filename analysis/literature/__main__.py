"""Judge the claims of the literature by the tables of studies, and write down the numbers of 2016.

`python -m analysis.literature reports/reference --out reports/literature`
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.format import listing
from workflows.output import place, printing
from workflows.records.storage import RecordError, unforeseen
from workflows.records.whole_files import write_together


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.literature", description=__doc__)
    parser.add_argument(
        "studies", nargs="*", type=Path, metavar="REPORT",
        help="the folder of a study's report, like reports/reference",
    )  # fmt: skip
    parser.add_argument("--out", type=place, default=Path("reports/literature"), help="where to")
    options = parser.parse_args(arguments)
    # Only now: statistics and plotting take seconds to import.
    from analysis.literature.files import made

    try:
        with unforeseen(listing(options.studies, "or") or "literature"):
            files = made(options.studies)
        write_together({options.out / name: content for name, content in files.items()})
    except RecordError as error:
        print(f"literature: {error}", file=sys.stderr)
        return 1
    print(f"The claims: {options.out / 'claims.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(printing("literature", main))

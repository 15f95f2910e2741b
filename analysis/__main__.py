"""Rebuild a study's report from its records; needs no framework.

`python -m analysis reports/<study>/machines/<machine> ... --out reports/<study>`
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from workflows.output import explained, place, printing, visible


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis", description=__doc__)
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one machine: reports/<study>/machines/<machine>",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", nargs="+", type=Path, default=[], metavar="FOLDER",
        help="other studies of the same machines: the report says how far ratios have moved",
    )  # fmt: skip
    parser.add_argument("--out", type=place, help="where to (default: reports/<study>)")
    parser.add_argument(
        "--brief", action="store_true", help="only report.md, with its figures and tables"
    )
    options = parser.parse_args(arguments)
    # Only now: statistics and plotting take a second or two to import.
    from analysis.data.reading import load, naming
    from analysis.data.series import with_others
    from analysis.format import any_encoding, file_name
    from analysis.literature.section import SECTION
    from analysis.report.page import write
    from analysis.report.terminal import all_lines
    from workflows.records.storage import RecordError

    any_encoding()

    try:
        with naming([*options.folders, *options.earlier]):
            machines = with_others(load(options.folders), options.earlier)
            out = options.out or Path("reports") / file_name(machines[0].study.name)
            chapters = write(machines, out, options.brief, [SECTION])
            text = "\n".join(all_lines(chapters))
    except (RecordError, OSError) as error:
        print(f"analysis: {explained(error)}", file=sys.stderr)
        return 1
    print(text)
    print(f"\nThe report: {visible(out / ('report.md' if options.brief else 'report.html'))}")
    return 0


if __name__ == "__main__":
    sys.exit(printing("analysis", main))

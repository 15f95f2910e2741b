"""Rebuild a study's report from its records; needs no framework.

`python -m analysis results/<machine>/<study> ... --out reports/<study>`
"""

import argparse
import sys
from pathlib import Path

from frameworks.workloads import WorkloadError
from workflows.records import RecordError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis", description=__doc__)
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one machine's batches.parquet and records.json",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="where to (default: reports/<study>)")
    arguments = parser.parse_args()
    # Only now: statistics and plotting take seconds to import.
    from analysis.report import write
    from analysis.study import load

    try:
        machines = load(arguments.folders)
        out = arguments.out or Path("reports") / machines[0].study.name
        write(machines, out)
    except (RecordError, WorkloadError, OSError) as error:
        print(f"analysis: {error}", file=sys.stderr)
        return 1
    print(f"report: {out / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

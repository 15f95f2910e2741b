"""Measure a prepared study's contenders in turns and alone, and write docs/solo.md from records.

`python -m benchmarks.solo --study results/<machine>/<study> --out benchmarks/solo/records/a.json`
`python -m benchmarks.solo benchmarks/solo/records/*.json --page docs/solo.md`
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from workflows.output import explained, printing

COMMAND = """\
python -m benchmarks.solo --study results/<machine>/<study> --out benchmarks/solo/records/NAME.json
python -m benchmarks.solo benchmarks/solo/records/*.json --page docs/solo.md"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solo", description=__doc__)
    parser.add_argument("records", type=Path, nargs="*", help="records for the page")
    parser.add_argument("--study", type=Path, help="measure: results/<machine>/<study>, prepared")
    parser.add_argument("--out", type=Path, help="the record that --study leaves")
    parser.add_argument("--variants", nargs="+", default=["default"])
    parser.add_argument("--minutes", type=float, default=8, help="three cycles at least")
    parser.add_argument("--page", type=Path, help="where to (default: the terminal)")
    options = parser.parse_args(arguments)
    if bool(options.study) != bool(options.out):
        parser.error("--study and --out need each other")
    # Only now: statistics take seconds to import.
    from benchmarks.solo.measure import measure
    from benchmarks.solo.page import page
    from benchmarks.solo.records import read
    from workflows.planning.plan import PlanError
    from workflows.records.folders import Folders
    from workflows.records.storage import RecordError

    try:
        if options.study:
            measure(Folders(options.study), options.variants, options.minutes, options.out)
        shown = options.records or [path for path in [options.out] if path]
        text = page([read(path) for path in shown], COMMAND)
    except (PlanError, RecordError, OSError, ValueError) as error:
        print(f"solo: {explained(error)}", file=sys.stderr)
        return 1
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(printing("solo", main))

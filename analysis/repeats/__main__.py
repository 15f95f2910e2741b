"""Compare whole studies that were run at different times.

`python -m analysis.repeats reports/default/machines/<machine> reports/again/machines/<machine>`
exits with 1 if verdicts contradict each other, if ratios vary more between runs than the replicates
within them explain, or if a comparison is not in all runs. The page names intervals that do not
overlap.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.workloads import WorkloadError
from workflows.records.storage import RecordError, atomic


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.repeats", description=__doc__)
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one run: reports/<study>/machines/<machine>",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="a Markdown file to write as well")
    options = parser.parse_args(arguments)
    # Only now: statistics take seconds to import.
    from analysis.format import titled
    from analysis.repeats.page import markdown, show
    from analysis.repeats.rows import repeats
    from analysis.repeats.runs import runs

    try:
        found = runs(options.folders)
        rows = repeats(found)
        with titled(found[0].machine.titles):
            if options.out:
                words = ["python", "-m", "analysis.repeats", *map(str, options.folders)]
                command = shlex.join([*words, "--out", str(options.out)])
                with atomic(options.out) as temporary:
                    temporary.write_text(markdown(rows, found, command))
            show(rows, found)
    except (RecordError, WorkloadError, OSError) as error:
        print(f"repeats: {error}", file=sys.stderr)
        return 2
    return 0 if rows and all(row.sound for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What whole studies, run at different times, say together.

`python -m analysis.repeats reports/default/machines/<machine> reports/again/machines/<machine>`
takes the study as the unit: how far each ratio moves, where the next study and the next start of
the machine are expected, and whether a verdict lasts. It exits with 1 if one study says faster
where another says slower, and with 2 if the studies do not measure the same.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.workloads import WorkloadError
from workflows.records.storage import RecordError, atomic


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.repeats", description=__doc__)
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one study: reports/<study>/machines/<machine>",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="a Markdown file to write, with its figure")
    options = parser.parse_args(arguments)
    # Only now: statistics and plotting take seconds to import.
    from analysis.format import titled
    from analysis.repeats.page import Page, markdown, show
    from analysis.repeats.series import all_series

    try:
        page = Page.of(all_series(options.folders))
        with titled(page.studies[-1].machine.titles):
            if options.out:
                from analysis.repeats.figure import drawing

                figure = options.out.with_suffix(".svg")
                text = markdown(page, command(options.folders, options.out), figure.name)
                drawn = drawing(page.found, page.starts)
                for path, content in ((figure, drawn), (options.out, text)):
                    with atomic(path) as temporary:
                        temporary.write_text(content)
            show(page)
    except (RecordError, WorkloadError, OSError) as error:
        print(f"repeats: {error}", file=sys.stderr)
        return 2
    rows = [row for series in page.found for row in series.rows]
    return 1 if any(row.contradicted for row in rows) else 0


def command(folders: Sequence[Path], out: Path) -> str:
    """The command that writes the page, a folder on each line."""
    words = ["python -m analysis.repeats", *map(str, sorted(folders)), f"--out {out}"]
    return " \\\n    ".join(words)


if __name__ == "__main__":
    sys.exit(main())

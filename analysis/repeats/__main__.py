"""Compares studies that were run at different times, on different machines or with other versions.

`python -m analysis.repeats reports/default/machines/<machine> reports/again/machines/<machine>`
shows two studies side by side: what changed around them, and which ratios moved further than the
first study predicts. Three studies or more are repeats of one, and the study is the unit: how far
each ratio moves, where the next study and the next start of the machine are expected, and whether
a verdict lasts. It exits with 1 if one study says faster where another says slower, and with 2 if
the studies cannot be compared.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.format import any_encoding
from workflows.output import place, printing
from workflows.records.storage import RecordError
from workflows.records.whole_files import atomic


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.repeats", description=__doc__)
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one study: reports/<study>/machines/<machine>",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", nargs="+", type=Path, default=[], metavar="FOLDER",
        help="of two studies: repeats of the first, which predict the second one's ratios better",
    )  # fmt: skip
    parser.add_argument("--out", type=place, help="a Markdown file to write as well")
    options = parser.parse_args(arguments)
    if options.earlier and len(options.folders) != 2:
        parser.error("--earlier needs two studies; give three or more without it")
    from analysis.data.reading import naming  # takes a second to import

    any_encoding()
    show = pair if len(options.folders) == 2 else series
    try:
        if show is series and options.out and options.out.suffix == ".svg":
            raise RecordError(f"--out {options.out}: a Markdown file is wanted, its figure is this")
        with naming([*options.folders, *options.earlier]):
            return show(options.folders, options.earlier, options.out)
    except RecordError as error:
        print(f"repeats: {error}", file=sys.stderr)
        return 2


def pair(folders: Sequence[Path], earlier: Sequence[Path], out: Path | None) -> int:
    # Only now: statistics and plotting take seconds to import.
    from analysis.data.reading import load
    from analysis.format import titled
    from analysis.repeats.two import side_by_side
    from analysis.repeats.two_page import markdown, show

    (first, second), others = ([load([f])[0] for f in own] for own in (folders, earlier))
    found = side_by_side(first, second, others)
    with titled({**first.titles, **second.titles}):
        if out:
            with atomic(out) as temporary:
                temporary.write_bytes(encoded(markdown(found, command(folders, out, earlier))))
        show(found)
    if not found.rows:
        return 2
    return 1 if any(row.moved.contradicted for row in found.rows) else 0


def series(folders: Sequence[Path], _: Sequence[Path], out: Path | None) -> int:
    from analysis.format import titled
    from analysis.repeats.page import Page, markdown, show
    from analysis.repeats.series import all_series

    page = Page.of(all_series(folders))
    with titled(page.studies[-1].machine.titles):
        if out:
            from analysis.repeats.figure import drawing

            figure = out.with_suffix(".svg")
            text = markdown(page, command(sorted(folders), out), figure.name)
            drawn = drawing(page.found, page.starts)
            for path, content in ((figure, drawn), (out, text)):
                with atomic(path) as temporary:
                    temporary.write_bytes(encoded(content))
        show(page)
    rows = [row for series in page.found for row in series.rows]
    return 1 if any(row.contradicted for row in rows) else 0


def encoded(text: str) -> bytes:
    """Names of folders may have bytes that are no text."""
    return text.encode(errors="replace")


def command(folders: Sequence[Path], out: Path, earlier: Sequence[Path] = ()) -> str:
    """The command that writes the page, a folder on each line."""
    more = [shlex.join(["--earlier", *map(str, earlier)])] if earlier else []
    quoted = [shlex.quote(str(folder)) for folder in folders]
    words = ["python -m analysis.repeats", *quoted, *more, shlex.join(["--out", str(out)])]
    return " \\\n    ".join(words)


if __name__ == "__main__":
    sys.exit(printing("repeats", main))

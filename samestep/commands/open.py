"""`open`: opens a study's report in a browser."""

import argparse
import webbrowser
from pathlib import Path

from samestep.commands import study
from samestep.studies import REPORTS, names
from samestep.terminal import Problem, unknown
from workflows.output import visible

PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "study", nargs="?", type=study, metavar="STUDY",
        help="the name of a study in reports/, or its folder (default: the newest report)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print the path of the page and open it. Without a browser, the status is 0, too."""
    page = find(arguments.study) if arguments.study else newest()
    print(visible(page))
    if not webbrowser.open(page.resolve().as_uri()):
        print("No browser can be opened here: open the page above yourself.")
    return 0


def find(word: str) -> Path:
    """The page of this study. Raises Problem if it has none."""
    there = [Path(word).parent] if Path(word).is_file() else []
    for folder in (REPORTS / word, Path(word), *there):
        if (folder / PAGE).is_file():
            return folder / PAGE
    if word in names():
        raise Problem(f"{word} has records and no report yet: samestep report {word} writes it")
    raise unknown("report", word, reports())


def newest() -> Path:
    """The page that was written last. Raises Problem if there is none."""
    pages = [REPORTS / name / PAGE for name in reports()]
    if not pages:
        raise Problem(f"there is no report in {REPORTS}/: snakemake --cores 1 runs a study")
    return max(pages, key=lambda page: page.stat().st_mtime)


def reports() -> list[str]:
    """The studies in `reports/` that have a page."""
    return sorted(
        page.parent.relative_to(REPORTS).as_posix() for page in REPORTS.glob(f"**/{PAGE}")
    )

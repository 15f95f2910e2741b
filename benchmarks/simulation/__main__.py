"""Simulate studies whose true ratios are known, and write docs/simulation.md."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workflows.output import printing
from workflows.records.storage import RecordError, write_json
from workflows.records.whole_files import atomic

PAGE = Path("docs/simulation.md")
RESULTS = Path(__file__).with_name("results.json")
DEFAULT_STUDIES = ("reports/repeats/*/*/machines/*",)
FEWEST = 100  # simulated studies, so that a share has an interval
MOST = 1_000_000  # because their log-ratios are held in memory


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        return validate(options)
    except RecordError as error:
        print(f"simulation: {error}", file=sys.stderr)
        return 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options, for `samestep validate` too."""
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER",
        help="records of the default study's contenders, reports/<study>/machines/<machine>; "
        "default: all default studies in reports/",
    )  # fmt: skip
    parser.add_argument(
        "--studies", type=enough, default=20_000, help="simulated for each figure (default: 20000)"
    )
    parser.add_argument("--out", type=Path, default=PAGE, help=f"the page (default: {PAGE})")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help=f"its numbers (default: {RESULTS.name})"
    )


def validate(options: argparse.Namespace) -> int:
    """0 if the intervals of all designs cover the truth in 94 to 96 %, else 1.

    Raises:
        RecordError: the records cannot be read or do not belong together.
    """
    from benchmarks.simulation.page import document, failures
    from benchmarks.simulation.records import read
    from benchmarks.simulation.run import run

    folders = options.folders or committed()
    for path in (options.results, options.out):  # before minutes are spent on them
        require_writable(path)
    found = run(read(folders), options.studies)
    write_json(options.results, found)
    with atomic(options.out) as page:
        page.write_text(document(found), encoding="utf-8")
    print(f"simulation: {options.out}")
    for failure in failures(found):
        print(f"simulation: {failure}", file=sys.stderr)
    return 1 if failures(found) else 0


def require_writable(path: Path) -> None:
    """Raises OSError if no file can be written there."""
    with suppress(InterruptedError), atomic(path) as temporary:
        temporary.touch()
        raise InterruptedError  # nothing is there to be written yet


def committed() -> list[Path]:
    found = sorted(path for pattern in DEFAULT_STUDIES for path in Path().glob(pattern))
    if not found:
        raise RecordError("no default study under reports/: run this in samestep's folder")
    return found


def enough(text: str) -> int:
    if int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"{text} is too few, {FEWEST} at least are needed")
    if int(text) > MOST:
        raise argparse.ArgumentTypeError(f"{text} is too many, {MOST:,} at most fit in memory")
    return int(text)


if __name__ == "__main__":
    sys.exit(printing("simulation", main))

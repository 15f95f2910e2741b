"""`fit` the noise model to records; `validate` the report's method on studies drawn from it."""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.simulation.noise import COMMITTED
from workflows.progress import Progress
from workflows.records.storage import RecordError, atomic, read_json, write_json

PAGE = Path("docs/simulation.md")


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    commands = parser.add_subparsers(required=True)
    fitting = commands.add_parser("fit", help="fit the noise model to real records")
    fitting.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="one machine's records, of any study: reports/<study>/machines/<machine>",
    )  # fmt: skip
    fitting.add_argument("--out", type=Path, default=COMMITTED, help=f"default: {COMMITTED}")
    fitting.set_defaults(command=fit)
    validating = commands.add_parser("validate", help="simulate studies and judge the method")
    add_validation(validating)
    validating.set_defaults(command=validate)
    options = parser.parse_args(arguments)
    options.line = shlex.join(["python", "-m", "benchmarks.simulation", *arguments])
    try:
        code: int = options.command(options)
    except (RecordError, OSError) as error:
        print(f"simulation: {error}", file=sys.stderr)
        return 1
    return code


def add_validation(parser: argparse.ArgumentParser) -> None:
    """The options of `validate`, for `samestep validate` too."""
    parser.add_argument(
        "--studies", type=at_least(2), default=10_000, help="of each scenario (default: 10000)"
    )
    parser.add_argument(
        "--replicates", type=at_least(2), nargs="+", default=[3, 5, 8, 12],
        help="of each study; one result for each of these numbers (default: 3 5 8 12)",
    )  # fmt: skip
    parser.add_argument("--noise", type=Path, default=COMMITTED, help="what `fit` wrote")
    parser.add_argument("--out", type=Path, default=PAGE, help=f"default: {PAGE}")


def fit(options: argparse.Namespace) -> int:
    from analysis.data.loading import load
    from benchmarks.simulation import fitting
    from benchmarks.simulation.fitting import checks
    from benchmarks.simulation.noise import Fits
    from benchmarks.simulation.page import noise_section

    machines = [load([folder])[0] for folder in options.folders]
    fits = [each for machine in machines for each in fitting.fit(machine)]
    found = Fits(command=options.line, fits=fits, checks=checks(machines, fits))
    print(noise_section(found))
    write_json(options.out, found)
    print(f"noise: {options.out}")
    return 0


def validate(options: argparse.Namespace) -> int:
    from benchmarks.simulation import validation
    from benchmarks.simulation.noise import Fits
    from benchmarks.simulation.page import document
    from benchmarks.simulation.scenarios import PORTION
    from benchmarks.simulation.validation import demands

    fits = read_json(options.noise, Fits)
    noises, replicates = [each.noise for each in fits.fits], sorted(set(options.replicates))
    begin = time.monotonic()
    with Progress(validation.steps(), "simulation") as progress:

        def report(done: float, text: str) -> None:
            passed = time.monotonic() - begin
            left = passed * (validation.steps() / done - 1) if done else None
            progress.update(done, text, left)

        first = validation.scenarios(noises, PORTION, replicates)
        found = validation.validate(noises, options.studies, replicates, report)
    with atomic(options.out) as page:
        page.write_text(document(fits, found, first))
    print(f"simulation: {options.out}")
    failed = [demand for demand in demands(found) if not demand.met]
    for demand in failed:
        print(f"simulation: not met: {demand}", file=sys.stderr)
    return 1 if failed else 0


def at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too few, {least} at least are needed")
        return value

    return number


if __name__ == "__main__":
    sys.exit(main())

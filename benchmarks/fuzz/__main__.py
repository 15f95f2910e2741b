"""Change configurations and records at random, and print what was tried and what escaped.

`python -m benchmarks.fuzz --cases 100000 --jobs 2` ends with 1 if a traceback escaped, if a refusal
is not one line that names its file, or if impossible rows were accepted. `--seed` and
`--only NUMBER` repeat a case, and `--first NUMBER` goes on where a run was stopped.
"""

import argparse
import contextlib
import io
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz.configurations import Configurations
from benchmarks.fuzz.study import SmallStudy
from benchmarks.options import at_least
from workflows.output import printing

REPORTS = Path(__file__).parents[2] / "reports"
BASES = "fence", "parts", "reduced-precision", "traps", "gpu"  # committed studies
SLOW_S = 20.0
SHOWN = 20  # escaped cases
PART = 100  # cases that a process is given at a time
EVERY = 5_000  # cases between two lines of progress
FREE = 5  # times as many reports of changes that are in no fixed form
OUTCOMES = ("refused", "accepted", "reported", "escaped")  # reported: accepted, with a report


class Outcome(NamedTuple):
    """What a case changed, one of `OUTCOMES`, and how it escaped."""

    group: str
    outcome: str
    text: str = ""


class Fuzz:
    """Cases by number: each has a random generator of its own."""

    def __init__(self, folder: Path, seed: int, reported: float) -> None:
        self.folder, self.seed, self.reported = folder, seed, reported
        self.configurations = Configurations(folder)
        self.studies = []
        for base in BASES:
            (committed,) = (REPORTS / base / "machines").iterdir()
            self.studies.append(SmallStudy(committed, folder / base))

    def once(self, number: int) -> Outcome:
        draw = random.Random(f"{self.seed} {number}")
        what, begin = "", time.process_time()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                what, outcome = self.case(draw)
        except Exception:
            outcome = traceback.format_exc()
        took = time.process_time() - begin  # other programs do not count
        if took > SLOW_S:
            outcome = f"took {took:.0f} s"
        group = what.partition(":")[0] or "unknown"
        if outcome in OUTCOMES:
            return Outcome(group, outcome)
        return Outcome(group, "escaped", f"case {number}, {what}: {outcome}")

    def case(self, draw: random.Random) -> tuple[str, str]:
        if draw.random() < 0.5:
            return self.configurations.once(draw)
        study = draw.choice(self.studies)
        case = study.change(draw)
        share = self.reported * (FREE if case.free else 1)
        report = self.folder / "report" if draw.random() < share else None
        try:
            outcome = study.read(case, report)
            return case.what, "reported" if report and outcome == "accepted" else outcome
        except Exception:
            return case.what, traceback.format_exc()
        finally:
            study.restore()


@cache
def own(folder: str, seed: int, reported: float) -> Fuzz:
    """The cases of this process, in a folder of its own."""
    return Fuzz(Path(tempfile.mkdtemp(dir=folder)).resolve(), seed, reported)


def part(numbers: Sequence[int], folder: str, seed: int, reported: float) -> list[Outcome]:
    return [own(folder, seed, reported).once(number) for number in numbers]


def outcomes(numbers: Sequence[int], jobs: int, seed: int, reported: float) -> Iterator[Outcome]:
    """The outcome of each case, in the order of `numbers`, from `jobs` processes."""
    parts = [numbers[first : first + PART] for first in range(0, len(numbers), PART)]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(partial(part, folder=folder, seed=seed, reported=reported), parts):
            yield from found


def said(counts: Counter[tuple[str, str]], escaped: list[str]) -> str:
    lines = ["".join([f"{'changed':22}", *(f"{title:>10}" for title in ("tried", *OUTCOMES))])]
    for group in sorted({group for group, _ in counts}):
        numbers = [counts[group, outcome] for outcome in OUTCOMES]
        lines.append(f"{group:22}" + "".join(f"{n:10}" for n in (sum(numbers), *numbers)))
    return "\n".join([*lines, f"escaped: {len(escaped) or 'nothing'}", *escaped[:SHOWN]])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument(
        "--cases", type=at_least(1), default=10_000, help="how many (default: 10,000)"
    )
    parser.add_argument("--seed", type=int, help="of the changes (default: another each time)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this case alone")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="begin with it")
    parser.add_argument(
        "--jobs", type=at_least(1), default=1, help="processes side by side (default: 1)"
    )
    parser.add_argument(
        "--reported", type=float, default=0.01, metavar="SHARE",
        help="of changed records, from which a report is written if they are accepted",
    )  # fmt: skip
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    cases = [options.only] if options.only is not None else range(options.first, options.cases)
    counts: Counter[tuple[str, str]] = Counter()
    escaped: list[str] = []
    begun = time.monotonic()
    for done, one in enumerate(outcomes(cases, options.jobs, seed, options.reported), 1):
        counts[one.group, one.outcome] += 1
        escaped += [one.text] * bool(one.text)
        if done % EVERY == 0:
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"{done:,} cases in {took}, {len(escaped)} escaped", flush=True)
    print(said(counts, escaped))
    return bool(escaped)


if __name__ == "__main__":
    sys.exit(printing("fuzz", main))

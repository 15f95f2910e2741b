"""Change configurations and records at random, and print what was tried and what escaped.

`python -m benchmarks.fuzz --cases 100000` takes about a quarter of an hour. It ends with 1 if a
traceback escaped, if a refusal is not one line that names its file, or if rows that cannot be were
accepted. A case is repeated by `--seed` and `--only NUMBER`.
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
from pathlib import Path

from benchmarks.fuzz.configurations import Configurations
from benchmarks.fuzz.study import SmallStudy

COMMITTED = Path(__file__).parents[2] / "reports" / "traps" / "machines"
SLOW_S = 20.0
SHOWN = 20  # of what escaped


class Fuzz:
    """Cases by number: each has a random generator of its own."""

    def __init__(self, folder: Path, seed: int, reported: float) -> None:
        self.folder, self.seed, self.reported = folder, seed, reported
        (committed,) = COMMITTED.iterdir()
        self.study, self.configurations = SmallStudy(committed, folder), Configurations(folder)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.escaped: list[str] = []

    def once(self, number: int) -> None:
        draw = random.Random(f"{self.seed} {number}")
        what, begin = "", time.monotonic()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                what, outcome = self.case(draw)
        except Exception:
            outcome = traceback.format_exc()
        if time.monotonic() - begin > SLOW_S:
            outcome = f"took {time.monotonic() - begin:.0f} s"
        group = what.partition(":")[0] or "unknown"
        if outcome not in ("refused", "accepted"):
            self.escaped.append(f"case {number}, {what}: {outcome}")
            outcome = "escaped"
        self.counts[group, outcome] += 1

    def case(self, draw: random.Random) -> tuple[str, str]:
        if draw.random() < 0.5:
            return self.configurations.once(draw)
        case = self.study.change(draw)
        report = self.folder / "report" if draw.random() < self.reported else None
        try:
            return case.what, self.study.read(case, report)
        except Exception:
            return case.what, traceback.format_exc()
        finally:
            self.study.restore()

    def said(self) -> str:
        groups = sorted({group for group, _ in self.counts})
        lines = [f"{'changed':22}{'tried':>8}{'refused':>9}{'accepted':>10}{'escaped':>9}"]
        for group in groups:
            numbers = [self.counts[group, o] for o in ("refused", "accepted", "escaped")]
            lines.append(f"{group:22}{sum(numbers):8}{numbers[0]:9}{numbers[1]:10}{numbers[2]:9}")
        lines.append(f"escaped: {len(self.escaped) or 'nothing'}")
        return "\n".join([*lines, *self.escaped[:SHOWN]])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default: 10,000)")
    parser.add_argument("--seed", type=int, help="of the changes (default: another each time)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this case alone")
    parser.add_argument(
        "--reported", type=float, default=0.01, metavar="SHARE",
        help="of changed records, from which a report is written if they are accepted",
    )  # fmt: skip
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        fuzz = Fuzz(Path(folder).resolve(), seed, options.reported)
        cases = [options.only] if options.only is not None else range(options.cases)
        for number in cases:
            fuzz.once(number)
    print(fuzz.said())
    return bool(fuzz.escaped)


if __name__ == "__main__":
    sys.exit(main())

"""The default design of now beside the former one, each pair from the same start of a machine: what
a replicate costs, and how wide the intervals of the same comparisons are.

`python -m benchmarks.noise.designs --now FOLDER... --former FOLDER...`, each one machine's records.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

from analysis.data.loading import load
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.findings import Findings
from analysis.stats.inference import Estimate


def replicate_s(machine: Machine) -> float:
    """Seconds that a replicate's contests take: the median over replicates of their sum."""
    lasted: dict[int, float] = {}
    for contest in machine.records.contests:
        lasted[contest.replicate] = lasted.get(contest.replicate, 0.0) + contest.duration_s
    return median(lasted.values())


def estimates(machine: Machine) -> dict[BenchmarkId, Estimate]:
    rows = Findings(machine).comparisons
    return {row.id: row.estimate for row in rows if row.estimate.ratio_low}


def half_width(one: Estimate) -> float:
    """Of the interval, on the logarithm."""
    return math.log((one.ratio_high or math.nan) / (one.ratio_low or math.nan)) / 2


def table(now: Sequence[Path], former: Sequence[Path]) -> Iterator[str]:
    heads = ("start", "replicates", "a replicate, former and now", "half-widths, now over former",
             "within former intervals")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    everything = []
    for new_folder, old_folder in zip(now, former, strict=True):
        new, old = (load([folder])[0] for folder in (new_folder, old_folder))
        ours, theirs = estimates(new), estimates(old)
        shared = [one for one in theirs if one in ours]
        logs = [math.log(half_width(ours[one]) / half_width(theirs[one])) for one in shared]
        within = sum(
            (theirs[one].ratio_low or 0) <= (ours[one].ratio or 0) <= (theirs[one].ratio_high or 0)
            for one in shared
        )
        everything += logs
        yield (
            f"| {new_folder.parent.parent.parent.name} "
            f"| {old.study.replicates} and {new.study.replicates} "
            f"| {replicate_s(old):.0f} s and {replicate_s(new):.0f} s "
            f"| {math.exp(fmean(logs)):.2f} "
            f"({math.exp(min(logs)):.2f} to {math.exp(max(logs)):.2f}) "
            f"| {within} of {len(shared)} |"
        )
    yield f"| all | | | {math.exp(fmean(everything)):.2f} | |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.designs", description=__doc__)
    parser.add_argument("--now", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--former", type=Path, nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    print("\n".join(table(arguments.now, arguments.former)))


if __name__ == "__main__":
    main()

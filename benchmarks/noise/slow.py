"""How many mini-batches are slow, and how much processes differ, in whole studies before and
after something was changed about the machine.

`python -m benchmarks.noise.slow --before FOLDER... --after FOLDER...`, each one machine's records.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.data.processes import uncontrolled
from analysis.data.reading import load
from workflows.output import printing

SLOW = 1.5  # times the lower quartile of all of a contender's mini-batches
KEY = ["workload", "contender"]


def steady(folders: Sequence[Path]) -> pd.DataFrame:
    """Mini-batches that count, of all studies, without controls."""
    found = pd.concat(uncontrolled(load([folder])[0]) for folder in folders)
    return found[~found["warmup"]]


def figures(rows: pd.DataFrame) -> pd.DataFrame:
    """For each contender: share of slow mini-batches, and standard deviation of the logarithms
    of its processes' medians within a study."""
    usual = rows.groupby(KEY)["ms"].transform(lambda ms: ms.quantile(0.25))
    slow = rows.assign(slow=rows["ms"] > SLOW * usual).groupby(KEY)["slow"].mean()
    medians = np.log(rows.groupby([*KEY, "study", "replicate"])["ms"].median())
    variances = medians.groupby([*KEY, "study"]).var(ddof=1)
    return pd.DataFrame({"slow": slow, "sd": np.sqrt(variances.groupby(KEY).mean())})


def table(before: Sequence[Path], after: Sequence[Path]) -> Iterator[str]:
    sides = [figures(steady(folders)) for folders in (before, after)]
    yield "| contender | slow before | slow after | sd of processes before | sd after |"
    yield "|---|---|---|---|---|"
    for key in sides[0].index.intersection(sides[1].index):
        one, other = (side.loc[key] for side in sides)
        yield (
            f"| {key[1]} on {key[0]} | {100 * one['slow']:.1f} % | {100 * other['slow']:.1f} % "
            f"| {one['sd']:.3f} | {other['sd']:.3f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.slow", description=__doc__)
    parser.add_argument("--before", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--after", type=Path, nargs="+", required=True, metavar="FOLDER")
    options = parser.parse_args()
    print("\n".join(table(options.before, options.after)))
    return 0


if __name__ == "__main__":
    sys.exit(printing("slow", main))

"""Print default, tuned and the fastest loop beside each other, from the report of their study.

`python -m analysis reports/loops/machines/* --out REPORT && python -m benchmarks.loops REPORT`
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from analysis.format import markdown_table
from benchmarks.loops.descriptions import JAX, PYTORCH, TENSORFLOW
from workflows.output import printing

HEADINGS = [
    "on", "threads", "framework", "ms, `default`", "`tuned`", "loop", "loop over `tuned`",
    "share of the limit, `default`", "`tuned`", "loop",
]  # fmt: skip


def rows(use: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[list[str]]:
    """A row for each workload, number of threads and framework."""
    pairs = pairs[(pairs["axis"] == "framework") & (pairs["variant"] == "tuned")]
    for (workload, threads), own in use.groupby(["workload", "threads"], sort=False):
        for loop in (PYTORCH, TENSORFLOW, JAX):
            name = loop.name.removesuffix("-loop")
            contenders = [(name, "default"), (name, "tuned"), (loop.name, "tuned")]
            found = own.set_index(["framework", "variant"]).reindex(contenders)
            here = pairs[(pairs["workload"] == workload) & (pairs["threads"] == threads)]
            yield [
                workload, str(threads), loop.title.removesuffix(" loop"),
                *(shown(value, "#.3g") for value in found["median_ms"]),
                ratio(here, loop.name, name),
                *(shown(value, ".0%") for value in found["share"]),
            ]  # fmt: skip


def shown(value: float, form: str) -> str:
    return "none known" if math.isnan(value) else format(value, form)


def ratio(pairs: pd.DataFrame, loop: str, name: str) -> str:
    """The loop's time over tuned's, whichever way round the table has the pair."""
    ends = ["ratio", "ratio_low", "ratio_high"]
    found = pairs[(pairs["framework"] == loop) & (pairs["against"] == name)][ends]
    if found.empty:
        found = pairs[(pairs["framework"] == name) & (pairs["against"] == loop)][ends]
        found = 1 / found[[ends[0], ends[2], ends[1]]]
    if found.isna().any(axis=None) or found.empty:
        return ""
    middle, low, high = found.iloc[0]
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("report", type=Path, help="the report of loops.yaml, not brief")
    tables = parser.parse_args(arguments).report / "tables"
    use, pairs = (pd.read_csv(tables / f"{name}.csv") for name in ("use", "pairs"))
    print(markdown_table(HEADINGS, rows(use, pairs)))
    return 0


if __name__ == "__main__":
    sys.exit(printing("loops", main))

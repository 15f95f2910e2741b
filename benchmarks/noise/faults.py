r"""Do processes with more page faults take longer? From pairs of a contender with itself.

`python -m benchmarks.noise.faults \
    benchmarks/noise/records/page-faults/pytorch-default-1-thread.parquet`
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.noise.scatter import (
    CONFIDENCE,
    STATISTICS,
    by_batch,
    components,
    log_ratios,
    paired,
)
from benchmarks.ways import BASE
from workflows.output import printing

PROCESS = ["replicate", "side"]


def by_turn(rows: pd.DataFrame) -> "pd.Series[float]":
    """Page faults for each mini-batch of a turn, its share of building the model included."""
    turns = rows[rows["round"] > 0].groupby([*PROCESS, "round"])["faults"]
    return turns.first() / turns.size()


def by_process(rows: pd.DataFrame) -> "pd.Series[float]":
    """The median over turns."""
    return by_turn(rows).groupby(PROCESS).median()


def second_over_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Log-ratios of each pair: of `faults`, and of `ms`."""
    sides = np.log(by_process(rows)).unstack("side")
    return pd.DataFrame({"faults": sides[1] - sides[0], "ms": by_batch(rows)})


def sentences(rows: pd.DataFrame) -> Iterator[str]:
    faults, pairs = by_process(rows), second_over_first(rows)
    low, middle, high = faults.quantile((0.1, 0.5, 0.9))
    yield (
        f"- A sixth of a turn, with as much of building its model, has {middle:.0f} page faults in "
        f"the median process, {low:.0f} to {high:.0f} in eight of ten, {faults.max():.0f} at most."
    )
    own, turns = np.log(faults).std(ddof=1), np.log(by_turn(rows)).groupby(PROCESS).var(ddof=1)
    yield (
        f"- Their logarithm's standard deviation is {own:.2f} from process to process, "
        f"{np.sqrt(turns.mean()):.2f} from turn to turn of a process."
    )
    between, within = components(paired(rows))
    medians = log_ratios(rows, STATISTICS["median"]).std(ddof=1)
    yield (
        f"- The standard deviation of {len(pairs)} pairs' log-ratios is "
        f"{pairs['ms'].std(ddof=1):.3f} as reports judge, {medians:.3f} by processes' medians; "
        f"{between:.3f} stays for a pair's life, {within:.3f} differs from turn to turn."
    )
    r = stats.pearsonr(pairs["faults"], pairs["ms"])
    interval = r.confidence_interval(CONFIDENCE)
    line = stats.linregress(pairs["faults"], pairs["ms"])
    left = (pairs["ms"] - line.slope * pairs["faults"]).std(ddof=2)
    yield (
        f"- They go with those of page faults: r {r.statistic:.2f} [{interval.low:.2f}, "
        f"{interval.high:.2f}], {line.slope:.3f} for each unit of the faults' logarithm, whose "
        f"standard deviation is {pairs['faults'].std(ddof=1):.2f}; with that line taken off, "
        f"{left:.3f} is left."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.faults", description=__doc__)
    parser.add_argument("records", type=Path, help="as noise.measure left them, on Linux")
    rows = pd.read_parquet(parser.parse_args().records)
    if "faults" not in rows:
        parser.error("these records are of before page faults were kept: measure anew")
    print("\n".join(sentences(rows[rows["way"] == BASE])))
    return 0


if __name__ == "__main__":
    sys.exit(printing("faults", main))

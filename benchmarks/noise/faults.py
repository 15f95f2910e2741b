"""Whether processes that have more page faults take longer, from pairs of a contender with itself.

`python -m benchmarks.noise.faults benchmarks/noise/records/page-faults/*.parquet`
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.noise.scatter import CONFIDENCE, by_batch

PROCESS = ["replicate", "side"]


def by_turn(rows: pd.DataFrame) -> "pd.Series[float]":
    """Page faults for each mini-batch of a turn, its share of building the model included."""
    turns = rows[rows["round"] > 0].groupby([*PROCESS, "round"])["faults"]
    return turns.first() / turns.size()


def by_process(rows: pd.DataFrame) -> "pd.Series[float]":
    """The median over turns."""
    return by_turn(rows).groupby(PROCESS).median()


def log_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each pair, its second process over its first: of `faults`, and of `ms`."""
    sides = np.log(by_process(rows)).unstack("side")
    return pd.DataFrame({"faults": sides[1] - sides[0], "ms": by_batch(rows)})


def told(rows: pd.DataFrame) -> Iterator[str]:
    faults, pairs = by_process(rows), log_ratios(rows)
    low, middle, high = faults.quantile((0.1, 0.5, 0.9))
    yield (
        f"- A mini-batch has {middle:.0f} page faults in the median process; "
        f"{low:.0f} to {high:.0f} in eight of ten, {faults.max():.0f} at most."
    )
    own, turns = np.log(faults).std(ddof=1), np.log(by_turn(rows)).groupby(PROCESS).var(ddof=1)
    yield (
        f"- Their logarithm's standard deviation is {own:.2f} from process to process, "
        f"{np.sqrt(turns.mean()):.2f} from turn to turn of a process."
    )
    r = stats.pearsonr(pairs["faults"], pairs["ms"])
    interval = r.confidence_interval(CONFIDENCE)
    line = stats.linregress(pairs["faults"], pairs["ms"])
    left = (pairs["ms"] - line.slope * pairs["faults"]).std(ddof=2)
    yield (
        f"- Over {len(pairs)} pairs, log-ratios of times go with those of page faults: r "
        f"{r.statistic:.2f} [{interval.low:.2f}, {interval.high:.2f}]. Their standard deviation is "
        f"{pairs['ms'].std(ddof=1):.3f}; {left:.3f} is left between pairs of equal faults."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.faults", description=__doc__)
    parser.add_argument("records", type=Path, help="as noise.measure left them, on Linux")
    print("\n".join(told(pd.read_parquet(parser.parse_args().records))))


if __name__ == "__main__":
    main()

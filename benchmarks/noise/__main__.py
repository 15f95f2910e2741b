"""The tables of benchmarks/noise/README.md, from recorded pairs.

`python -m benchmarks.noise benchmarks/noise/records/*.parquet`
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from scipy import stats

from benchmarks.noise.scatter import (
    STATISTICS,
    by_batch,
    by_turn,
    log_ratios,
    paired,
    scatter,
    steady,
)
from benchmarks.ways import BASE, WAYS
from workflows.output import printing
from workflows.records.storage import unforeseen


def ways_table(rows: pd.DataFrame) -> Iterator[str]:
    """A row for each way. p is Brown and Forsythe's (1974), for the same scatter as `turns`."""
    base = log_ratios(rows[rows["way"] == BASE], STATISTICS["median"])
    usual = steady(rows[rows["way"] == BASE]).groupby("replicate")["ms"].median()
    yield "| way | sd of the log-ratio | p | second over first | between, within | time |"
    yield "|---|---|---|---|---|---|"
    for way in sorted(set(rows["way"]), key=list(WAYS).index):
        own = rows[rows["way"] == way]
        logs = log_ratios(own, STATISTICS["median"])
        times = steady(own).groupby("replicate")["ms"].median()
        found = scatter(logs, paired(own), float((times / usual).median()))
        p = "" if way == BASE else f"{stats.levene(logs, base, center='median').pvalue:.2g}"
        yield (
            f"| `{way}`: {WAYS[way].summary} "
            f"| {found.sd:.3f} [{found.sd_low:.3f}, {found.sd_high:.3f}] | {p} "
            f"| {percent(found.mean)} [{percent(found.mean_low)}, {percent(found.mean_high)}] "
            f"| {found.between:.3f}, {found.within:.3f} | {found.time:.2f} |"
        )


def percent(log_ratio: float) -> str:
    return f"{100 * log_ratio:+.1f} %"


def statistics_table(rows: pd.DataFrame) -> Iterator[str]:
    """The same pairs in turns, with other summaries."""
    own = rows[rows["way"] == BASE]
    turn = int(own["place"].max()) + 1
    kept = [settle for settle in range(4) if settle < turn]
    yield "| of a process | " + " | ".join(f"{n} set aside" for n in kept) + " |"
    yield "|---" * (len(kept) + 1) + "|"
    for name, statistic in STATISTICS.items():
        sds = [log_ratios(own, statistic, settle).std(ddof=1) for settle in kept]
        yield f"| {name} | " + " | ".join(f"{sd:.4f}" for sd in sds) + " |"
    for name, way in (("median of rounds, paired", by_turn), ("pairs within rounds", by_batch)):
        sds = [way(own, settle).std(ddof=1) for settle in kept]
        yield f"| {name} | " + " | ".join(f"{sd:.4f}" for sd in sds) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("records", type=Path, nargs="+", help="as benchmarks.noise.measure left")
    for path in parser.parse_args().records:
        with unforeseen(path):
            rows = pd.read_parquet(path)
            print(f"\n### {rows['contender'].iloc[0]} on {rows['workload'].iloc[0]}\n")
            print("\n".join(ways_table(rows)), end="\n\n")
            if BASE in set(rows["way"]):
                print("\n".join(statistics_table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(printing("noise", main))

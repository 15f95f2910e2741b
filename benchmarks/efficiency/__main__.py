"""The tables of docs/efficiency.md, from recorded estimates.

`python -m benchmarks.efficiency benchmarks/efficiency/records/*.csv`
"""

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.noise.scatter import STATISTICS, components, log_ratios, paired
from workflows.output import printing
from workflows.records.storage import unforeseen

OURS = "contests in turns"
WITHIN = 0.03
SURE = 1.96  # standard deviations within which 95 % of estimates lie
DRAWS = 2000  # of the bootstrap over cycles


def machine_time(rows: pd.DataFrame) -> float:
    """Seconds until 95 % of estimates, means of independent log-ratios, are within 3 % of what
    the method gives in the long run; a fraction of a repetition counts as a fraction."""
    times = (SURE * rows["log_ratio"].std(ddof=1) / math.log1p(WITHIN)) ** 2
    return float(rows["seconds"].mean() * max(times, 1.0))


def table(records: pd.DataFrame) -> Iterator[str]:
    """Each method's long-run ratio, scatter and cost, and its machine time over ours, with the
    95 % interval of a bootstrap that draws whole cycles, the same for all methods."""
    random = np.random.default_rng(1)
    methods = {str(name): rows.set_index("cycle") for name, rows in records.groupby("method")}
    cycles = methods[OURS].index.to_numpy()
    drawn = [random.choice(cycles, len(cycles)) for _ in range(DRAWS)]
    ours = machine_time(methods[OURS])
    again = np.array([machine_time(methods[OURS].loc[chosen]) for chosen in drawn])
    yield (
        "| method | ratio in the long run | sd of a log-ratio | s each | min to within 3 % "
        "| over ours |"
    )
    yield "|---|---|---|---|---|---|"
    for name, rows in sorted(methods.items(), key=lambda item: machine_time(item[1])):
        found, over = machine_time(rows), ""
        if name != OURS:
            others = np.array([machine_time(rows.loc[chosen]) for chosen in drawn])
            low, high = np.quantile(others / again, (0.025, 0.975))
            over = f"{found / ours:.1f} [{low:.1f}, {high:.1f}]"
        logs = rows["log_ratio"]
        half = SURE * logs.std(ddof=1) / math.sqrt(len(logs))
        low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
        yield (
            f"| {name} | {math.exp(logs.mean()):.3f} [{low:.3f}, {high:.3f}] "
            f"| {logs.std(ddof=1):.3f} | {rows['seconds'].mean():.1f} | {found / 60:.1f} | {over} |"
        )


def contests(batches: pd.DataFrame) -> str:
    """The scatter of contests, from their mini-batches and, for comparison, from medians."""
    rows = batches.rename(columns={"cycle": "replicate"})
    between, within = components(paired(rows))
    rounds = rows["round"].max()
    medians = log_ratios(rows, STATISTICS["median"]).std(ddof=1)
    return (
        f"Of contests {between:.3f} stays for their whole life and {within:.3f} differs from round "
        f"to round, which leaves {within / math.sqrt(rounds):.3f} after {rounds}. By processes' "
        f"medians they would scatter by {medians:.3f}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.efficiency", description=__doc__)
    parser.add_argument("records", type=Path, nargs="+", help="as efficiency.measure left them")
    for path in parser.parse_args().records:
        with unforeseen(path):
            records = pd.read_csv(path)
            pair, workload = records["pair"].iloc[0], records["workload"].iloc[0]
            print(f"\n### {pair} on {workload}, {records['cycle'].max()} cycles\n")
            print("\n".join(table(records)))
            print(f"\n{contests(pd.read_parquet(path.with_suffix('.parquet')))}")
    return 0


if __name__ == "__main__":
    sys.exit(printing("efficiency", main))

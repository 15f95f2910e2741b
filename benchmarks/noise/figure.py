"""The figure of docs/noise.md: how much pairs scatter, by the way they were run.

`python -m benchmarks.noise.figure benchmarks/noise/records/*.parquet --out docs/noise.svg`
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from benchmarks.noise.scatter import STATISTICS, Scatter, log_ratios, paired, scatter
from benchmarks.ways import WAYS
from workflows.output import printing

AIM = (0.01, 0.02)


def by_way(rows: pd.DataFrame) -> dict[str, Scatter]:
    found = {}
    for way in WAYS:
        own = rows[rows["way"] == way]
        if len(own):
            found[way] = scatter(log_ratios(own, STATISTICS["median"]), paired(own), 1.0)
    return found


def write(records: list[Path], out: Path) -> None:
    """One panel a file; a way's standard deviation with its 95 % interval."""
    tables = [pd.read_parquet(path) for path in records]
    panels = [by_way(rows) for rows in tables]
    mpl.rcParams["svg.hashsalt"] = "samestep"
    sns.set_theme(style="whitegrid", context="paper")
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(7, 0.6 + 0.28 * sum(len(p) + 2 for p in panels)), sharex=True,
        squeeze=False, height_ratios=[len(panel) + 1 for panel in panels],
        layout="constrained",
    )  # fmt: skip
    for axis, rows, panel in zip(axes[:, 0], tables, panels, strict=True):
        axis.axvspan(*AIM, color="0.9", zorder=0)
        for place, one in enumerate(panel.values()):
            axis.plot([one.sd_low, one.sd_high], [place, place], color="C0", lw=1.5)
            axis.plot(one.sd, place, "o", color="C0", ms=5)
        axis.set_yticks(range(len(panel)), list(panel))
        axis.set_ylim(len(panel) - 0.5, -0.5)
        axis.set_title(f"{rows['contender'].iloc[0]} on {rows['workload'].iloc[0]}", loc="left")
        axis.grid(axis="y", visible=False)
    axes[-1, 0].set_xlim(0, 1.03 * max(one.sd_high for panel in panels for one in panel.values()))
    axes[-1, 0].set_xlabel(
        "standard deviation of a pair's log-ratio, with its 95 % interval; the band is the aim"
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.figure", description=__doc__)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write(arguments.records, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(printing("figure", main))

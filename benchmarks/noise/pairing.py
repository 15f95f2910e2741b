"""Whether comparing within rounds scatters less: the log-ratio of a replicate as the median over
rounds of what the turns of one round say, against the ratio of the processes' medians.

`python -m benchmarks.noise.pairing FOLDER...`, each one machine's records.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.loading import load
from analysis.processes import uncontrolled
from benchmarks.noise.rounds import REPLICATE, log_ratios


def scatters(rows: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Standard deviation over replicates of each contender's log-ratio to the reference, both
    ways: `processes` and `rounds`."""
    keys = [*REPLICATE, "contender"]
    ways = {
        "processes": log_ratios(rows, reference, int(rows["round"].max())),
        "rounds": log_ratios(rows, reference, 1),
    }
    one = {way: pairs.groupby(keys)["log"].median() for way, pairs in ways.items()}
    by = ["study", "workload", "contender"]
    return pd.DataFrame({way: logs.groupby(by).std(ddof=1) for way, logs in one.items()})


def table(folders: Sequence[Path]) -> Iterator[str]:
    """Of each study the geometric mean over comparisons, on one thread and on several."""
    yield "| records | threads | comparisons | scatter within rounds over that of processes |"
    yield "|---|---|---|---|"
    everything = []
    for folder in folders:
        (machine,) = load([folder])
        found = scatters(uncontrolled(machine), machine.study.reference)
        several = ~found.index.get_level_values("contender").str.endswith("/1")
        change = np.log(found["rounds"] / found["processes"])
        for threads, those in (("1", change[~several]), ("several", change[several])):
            if len(those):
                where = "/".join(folder.parts[-4:-2])
                yield f"| {where} | {threads} | {len(those)} | {np.exp(those.mean()):.2f} |"
        everything.append(change)
    change = pd.concat(everything)
    yield f"| all | | {len(change)} | {np.exp(change.mean()):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.pairing", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    print("\n".join(table(parser.parse_args().folders)))


if __name__ == "__main__":
    main()

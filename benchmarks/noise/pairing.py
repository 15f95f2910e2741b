"""Do replicates scatter less if contenders are compared within rounds? A log-ratio within rounds is
the median over rounds of the ratio of a round's two medians, or the Hodges-Lehmann estimate of
reports. Both are compared with the ratio of the processes' medians.

`python -m benchmarks.noise.pairing FOLDER...`, each one machine's records.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.data.processes import grid, uncontrolled
from analysis.data.reading import load
from analysis.stats.estimator import log_ratio
from benchmarks.noise.rounds import REPLICATE, by_block
from workflows.output import printing

WAYS = {"turns": "medians of turns", "batches": "pairs of mini-batches"}


def standard_deviations(rows: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Standard deviation over replicates of each contender's log-ratio to the reference:
    `processes`, from their medians, and within rounds, of `turns` and of `batches`."""
    keys = [*REPLICATE, "contender"]
    processes = by_block(rows, reference, int(rows["round"].max())).set_index(keys)
    turns = by_block(rows, reference, 1).groupby(keys)["log"].median()
    steady = rows[~rows["warmup"]]
    places = {key: place for place, key in enumerate(steady.groupby(keys).size().index)}
    bases = [(*key[:-1], f"{reference}/{rest}") for key, rest in processes["rest"].items()]
    logs, own = grid(steady, keys), [places[key] for key in processes.index]
    batches = log_ratio(logs[own], logs[[places[base] for base in bases]])
    one = {
        "processes": processes["log"],
        "turns": turns,
        "batches": pd.Series(batches, index=processes.index),
    }
    return pd.DataFrame(one).groupby(["study", "workload", "contender"]).std(ddof=1)


def table(folders: Sequence[Path]) -> Iterator[str]:
    """For each study, the standard deviation within rounds over that from processes' medians:
    geometric means over comparisons, on one thread and on several."""
    yield f"| records | threads | comparisons | {' | '.join(WAYS.values())} |"
    yield "|---" * (3 + len(WAYS)) + "|"
    everything = []
    for folder in folders:
        (machine,) = load([folder])
        found = standard_deviations(uncontrolled(machine), machine.study.reference)
        several = ~found.index.get_level_values("contender").str.endswith("/1")
        change = np.log(found[[*WAYS]].div(found["processes"], axis=0))
        for threads, rows in (("1", change[~several]), ("several", change[several])):
            if len(rows):
                where = "/".join(folder.parts[-4:-2])
                yield f"| {where} | {threads} | {len(rows)} | {means(rows)} |"
        everything.append(change)
    change = pd.concat(everything)
    yield f"| all | | {len(change)} | {means(change)} |"


def means(change: pd.DataFrame) -> str:
    return " | ".join(f"{mean:.2f}" for mean in np.exp(change.mean()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.pairing", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    print("\n".join(table(parser.parse_args().folders)))
    return 0


if __name__ == "__main__":
    sys.exit(printing("pairing", main))

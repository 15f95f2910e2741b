"""What more rounds are worth: how far the log-ratios of whole studies scatter if only some of their
rounds count, and what a round costs.

`python -m benchmarks.noise.rounds FOLDER...`, each one machine's records; studies of one schedule.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.data.processes import uncontrolled
from analysis.data.reading import load
from analysis.data.results import Machine
from workflows.output import printing

REPLICATE = ["study", "workload", "replicate"]


def by_block(rows: pd.DataFrame, reference: str, rounds: int) -> pd.DataFrame:
    """The log-ratio (`log`) of each contender to the reference of the same variant, device and
    threads, from medians of steady mini-batches in each block of `rounds` consecutive rounds."""
    steady = rows[~rows["warmup"]]
    steady = steady.assign(block=(steady["round"] - 1) // rounds)
    medians = np.log(steady.groupby([*REPLICATE, "contender", "block"])["ms"].median())
    table = medians.rename("own").reset_index()
    table[["framework", "rest"]] = table["contender"].str.split("/", n=1, expand=True)
    base = table[table["framework"] == reference].rename(columns={"own": "base"})
    keys = [*REPLICATE, "rest", "block"]
    pairs = table[table["framework"] != reference].merge(base[[*keys, "base"]], on=keys)
    return pairs.assign(log=pairs["own"] - pairs["base"])


def standard_deviation(rows: pd.DataFrame, reference: str, rounds: int) -> "pd.Series[float]":
    """Standard deviation over the replicates of a study, by workload and contender: the root of
    the mean variance over blocks and studies."""
    pairs = by_block(rows, reference, rounds)
    variance = pairs.groupby(["workload", "contender", "study", "block"])["log"].var(ddof=1)
    found: pd.Series[float] = np.sqrt(variance.groupby(["workload", "contender"]).mean())
    return found


def costs(machines: Sequence[Machine]) -> Iterator[tuple[str, float, float]]:
    """For each workload, medians over contests in seconds: all but the rounds, and one round."""
    for workload in machines[0].workloads:
        begun, each = [], []
        for contest in (c for m in machines for c in m.contests(workload).values()):
            rounds = [turn for turn in contest.turns if turn.round]
            lasted = sum(turn.duration_s for turn in rounds)
            each.append(lasted / max(turn.round for turn in rounds))
            begun.append(contest.duration_s - lasted)
        yield workload, float(np.median(begun)), float(np.median(each))


def table(folders: Sequence[Path]) -> Iterator[str]:
    machines = [load([folder])[0] for folder in folders]
    rows = pd.concat(uncontrolled(machine) for machine in machines)
    held = int(rows["round"].max())
    counts = [count for count in (held // 4, held // 2, held) if count]
    found = pd.concat(
        [standard_deviation(rows, machines[0].study.reference, count) for count in counts],
        axis=1,
        keys=counts,
    )
    for workload, begun, each in costs(machines):
        yield (
            f"- A contest of {workload} takes {begun:.0f} s for starting and ending, and "
            f"{each:.1f} s a round."
        )
    yield ""
    yield f"| contender | {' | '.join(f'{count} rounds' for count in counts)} |"
    yield "|---" * (len(counts) + 1) + "|"
    for key in found.index:
        values = " | ".join(f"{sd:.3f}" for sd in found.loc[key])
        yield f"| {key[1]} on {key[0]} | {values} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.rounds", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    print("\n".join(table(parser.parse_args().folders)))
    return 0


if __name__ == "__main__":
    sys.exit(printing("rounds", main))

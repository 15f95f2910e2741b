"""Run pairs of a contender with itself, way after way, in an order drawn anew in each replicate.

`python -m benchmarks.noise.measure --data results/<machine>/<study>/data/mnist-cnn
    --contender pytorch/default/cpu/1 --ways turns unpinned --out rows.parquet`
"""

import argparse
import random
import sys
from pathlib import Path

import pandas as pd

from benchmarks.pairs import contender, run
from benchmarks.ways import WAYS
from workflows.machine.lock import machine_lock
from workflows.output import printing
from workflows.progress import Progress

FLOATS = ("ms", "faults")
SMALL = ("side", "round", "place", "replicate")


def measure(data: Path, name: str, ways: list[str], replicates: int, seed: int) -> pd.DataFrame:
    """All rows of all pairs, `replicates` of each way."""
    one, rows = contender(name), []
    with Progress(replicates * len(ways), f"{name} on {data.name}") as progress:
        for replicate in range(1, replicates + 1):
            order = random.Random(f"{seed} {replicate}").sample(ways, len(ways))
            for number, way in enumerate(order):
                progress.update((replicate - 1) * len(ways) + number, way)
                with machine_lock(progress.note):
                    found = run((one, one), WAYS[way], data, seed=1000 * replicate + number)
                rows.append(found.assign(way=way, replicate=replicate))
    table = pd.concat(rows).assign(contender=name, workload=data.name)
    types = dict.fromkeys(FLOATS, "float32") | dict.fromkeys(SMALL, "int16")
    return table.astype(types).round({"ms": 4})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise.measure", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a prepared workload's folder")
    parser.add_argument("--contender", required=True, help="framework/variant/device/threads")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a Parquet file, made or replaced")
    arguments = parser.parse_args()
    rows = measure(
        arguments.data, arguments.contender, arguments.ways, arguments.replicates, arguments.seed
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    rows.to_parquet(arguments.out, index=False, compression="zstd")
    return 0


if __name__ == "__main__":
    sys.exit(printing("measure", main))

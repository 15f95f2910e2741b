"""Run one pair in turns, and each side alone, over and over; keep each estimate and its cost.

`python -m benchmarks.efficiency.measure --data results/<machine>/<study>/data/mnist-cnn
    --pair pytorch/default/cpu/1 tensorflow/default/cpu/1 --out estimates.csv`
"""

import argparse
import math
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd

from benchmarks.noise.scatter import log_ratio, steady
from benchmarks.pairs import TIMEOUT_S, contender, run
from benchmarks.ways import BASE, WAYS
from workflows.machine.fingerprint import available_cores
from workflows.machine.lock import machine_lock
from workflows.measure.pool import cores_for
from workflows.output import printing
from workflows.planning.entries import ContestEntry
from workflows.planning.plan import PlannedContender
from workflows.progress import Progress
from workflows.worker.process import WorkerProcess

COUNTS = ContestEntry(rounds=12, turn=6, discard=2)  # the former default study's
CONTEST = replace(WAYS[BASE], warmup=COUNTS.warmup, rounds=COUNTS.rounds, turn=COUNTS.turn)
SMALL = ("cycle", "side", "round", "place")
WARMUP = 5
LONG = 150  # mini-batches of a process that runs alone
# pyperf's: values of a process, after one of warm-up, and the least milliseconds of each
VALUES, VALUE_MS = 3, 100.0  # (pyperf 2.6, `--values` and `--min-time`)


def alone(one: PlannedContender, data: Path, values: bool) -> dict[str, float]:
    """Run one process: the `seconds` from its start to its end, and the `ms` of a mini-batch: if
    `values`, the mean of few values as pyperf takes them, else the median of many mini-batches."""
    begin = time.monotonic()
    with WorkerProcess(one.interpreter, one) as worker:
        worker.send_open(precision="float32", tf32=False)
        worker.receive(TIMEOUT_S)
        worker.ask("pin", TIMEOUT_S, cores=cores_for(one, available_cores()))
        worker.ask("load", TIMEOUT_S, folder=str(data.resolve()))
        worker.ask("build", TIMEOUT_S, variant=one.variant)
        warm = times(worker.ask("turn", TIMEOUT_S, first=0, count=WARMUP, rebuild=None))
        count = LONG
        if values:
            loops = max(1, round(VALUE_MS / warm.iloc[1:].median()))
            count = (1 + VALUES) * loops
        found = times(worker.ask("turn", TIMEOUT_S, first=WARMUP, count=count, rebuild=None))
        ms = found.iloc[loops:].mean() if values else found.median()
    return {"ms": float(ms), "seconds": time.monotonic() - begin}


def times(answer: dict[str, list[int]]) -> "pd.Series[float]":
    return (pd.Series(answer["transfer_ns"]) + pd.Series(answer["step_ns"])) / 1e6


def cycle(
    pair: tuple[PlannedContender, PlannedContender], data: Path, number: int
) -> tuple[list[dict[str, object]], pd.DataFrame]:
    """One estimate by each method, and the contest's mini-batches. Methods and sides are in random
    order, which gives the other methods the benefit of alternating processes."""
    chance, found, batches = random.Random(number), [], pd.DataFrame()
    for method in chance.sample(("turns", "long", "values"), 3):
        if method == "turns":
            swapped = chance.random() < 0.5
            begin = time.monotonic()
            batches = run(pair[::-1] if swapped else pair, CONTEST, data, number)
            seconds = time.monotonic() - begin
            if swapped:
                batches["side"] = 1 - batches["side"]
            ours = log_ratio(steady(batches, COUNTS.discard))
            found.append({"method": "contests in turns", "log_ratio": ours,
                          "seconds": seconds})  # fmt: skip
            continue
        sides = {side: alone(pair[side], data, method == "values")
                 for side in chance.sample((0, 1), 2)}  # fmt: skip
        seconds = sides[0]["seconds"] + sides[1]["seconds"]
        by_step = {"log_ratio": math.log(sides[1]["ms"] / sides[0]["ms"]), "seconds": seconds}
        if method == "values":
            found.append({"method": "process replication, no turns (as pyperf)", **by_step})
            continue
        found.append({"method": "one process after another", **by_step})
        by_run = math.log(sides[1]["seconds"] / sides[0]["seconds"])
        found.append({"method": "repeated whole runs (as hyperfine)", "log_ratio": by_run,
                      "seconds": seconds})  # fmt: skip
    return found, batches


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.efficiency.measure", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="a prepared workload's folder")
    parser.add_argument("--pair", nargs=2, required=True, help="framework/variant/device/threads")
    parser.add_argument("--cycles", type=int, default=24)
    parser.add_argument(
        "--out", type=Path, required=True,
        help="a CSV file, made or replaced; contests' mini-batches go beside it, as Parquet",
    )  # fmt: skip
    arguments = parser.parse_args()
    one, other = map(contender, arguments.pair)
    pair = " and ".join(arguments.pair)
    estimates: list[dict[str, object]] = []
    contests: list[pd.DataFrame] = []
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with Progress(arguments.cycles, pair) as progress:
        for number in range(1, arguments.cycles + 1):
            progress.update(number - 1, f"cycle {number}/{arguments.cycles}")
            with machine_lock(progress.note):
                found, batches = cycle((one, other), arguments.data, number)
            estimates += [{"cycle": number, **row} for row in found]
            contests.append(batches.assign(cycle=number))
            keep(estimates, contests, arguments.out, workload=arguments.data.name, pair=pair)
    return 0


def keep(
    estimates: list[dict[str, object]], contests: list[pd.DataFrame], path: Path, **names: str
) -> None:
    """Keep all results so far: a stopped run leaves its whole cycles."""
    pd.DataFrame(estimates).assign(**names).to_csv(path, index=False, float_format="%.6g")
    table = pd.concat(contests).astype({"ms": "float32", **dict.fromkeys(SMALL, "int16")})
    table.to_parquet(path.with_suffix(".parquet"), index=False)


if __name__ == "__main__":
    sys.exit(printing("measure", main))

"""Render the reports of ever larger studies; print rows, seconds, memory and bytes as a table.

`python -m benchmarks.report reports/reference/machines/* --rows 1e5 1e6 1e7`

A large study is the one in the folder with longer turns: each steady mini-batch is there many
times, with times that scatter by 5 %. The first row of the table is the study itself.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.format import markdown_table
from workflows.records import storage
from workflows.records.columns import BATCHES
from workflows.records.machine_folder import read_machine, write_machine

SCATTER = 0.05
PROCESS = ["workload", "replicate", "contender"]


HEADINGS = ["mini-batches", "seconds", "processors' seconds", "peak MiB", "report.html, kB"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("folder", type=Path, help="a machine's folder of a study")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--within", type=Path, help="where the studies are made, and removed again")
    options = parser.parse_args(arguments)
    rows = []
    storage.LEVEL = 1  # the usual one takes minutes for a large file
    with tempfile.TemporaryDirectory(dir=options.within) as within:
        for size in [0.0, *options.rows]:
            folder = Path(within) / "machine"
            number = lengthened(options.folder, int(size), folder)
            rows.append([f"{number:,}", *rendered(folder, Path(within) / "report")])
    print(markdown_table(HEADINGS, rows))
    return 0


def lengthened(source: Path, size: int, out: Path) -> int:
    """Write a folder with about so many mini-batches, and say how many there are: at least those of
    the source."""
    records, table = read_machine(source)
    rows = table.to_pandas()
    steady = ~rows["warmup"].to_numpy()
    times = np.where(steady, max((size - int((~steady).sum())) // int(steady.sum()), 1), 1)
    before = pd.Series(times).groupby([rows[key] for key in PROCESS]).cumsum().to_numpy() - times
    which = np.repeat(np.arange(len(rows)), times)
    again = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    noise = np.exp(np.random.default_rng(1).normal(0, SCATTER, len(which)))
    rows = rows.iloc[which].reset_index(drop=True)
    rows["step"] = (before[which] + again).astype(np.int32)
    rows["step_ns"] = (rows["step_ns"] * noise).astype(np.int64)
    took = rows[["data_ns", "transfer_ns", "step_ns"]].sum(axis=1)
    rows["start_ns"] = rows["start_ns"].iloc[0] + took.cumsum() - took
    spans = rows.assign(end=rows["start_ns"] + took).groupby([*PROCESS, "round"])
    spans = spans.agg(start=("start_ns", "min"), end=("end", "max"))
    for contest in records.contests:
        for turn in contest.turns:
            key = (contest.workload, contest.replicate, turn.contender, turn.round)
            turn.start_ns, end = (int(value) for value in spans.loc[key])
            turn.duration_s = (end - turn.start_ns) / 1e9
    write_machine(out, records, pa.Table.from_pandas(rows, BATCHES, preserve_index=False))
    return len(rows)


def rendered(folder: Path, out: Path) -> list[str]:
    """The row of one report, which is rendered in a process of its own."""
    command = [sys.executable, "-m", "analysis", str(folder), "--out", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    kilobytes = (out / "report.html").stat().st_size / 1000
    busy = used.ru_utime + used.ru_stime
    memory = used.ru_maxrss / 1024
    return [f"{seconds:.1f}", f"{busy:.1f}", f"{memory:.0f}", f"{kilobytes:.0f}"]


if __name__ == "__main__":
    sys.exit(main())

"""Render the reports of ever larger studies; print rows, seconds, memory and bytes as a table.

`python -m benchmarks.report reports/reference/machines/* --rows 1e5 1e6 1e7 1e8`

The first row of the table is the study in the folder. longer.py makes the other studies from it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from analysis.format import markdown_table
from benchmarks.report.longer import lengthened
from workflows.output import printing

HEADINGS = ["mini-batches", "seconds", "processors' seconds", "peak MiB", "report.html, kB"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("folder", type=Path, help="a machine's folder of a study")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7, 1e8])
    parser.add_argument("--within", type=Path, help="where the studies are made, and removed again")
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(dir=options.within) as within:
        for size in [0.0, *options.rows]:
            folder = Path(within) / "machine"
            # In a process of its own, because a child's peak memory counts that of its parent.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                number = pool.submit(lengthened, options.folder, int(size), folder).result()
            rows.append([f"{number:,}", *rendered(folder, Path(within) / "report")])
    print(markdown_table(HEADINGS, rows))
    return 0


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
    sys.exit(printing("report", main))

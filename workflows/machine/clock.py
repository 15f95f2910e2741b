"""No result is from the future, even if somebody sets the clock back."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

APART_NS = 10_000  # more than the floating-point numbers that Snakemake compares round off
COARSE_NS = 100_000_000  # the kernel's clock for files is some milliseconds behind


def set_right(folders: Iterable[Path]) -> None:
    """Give files and folders that are newer than now a time just before, in the order they had.

    Snakemake compares the times of files. It deletes what a job has made if it is older than what
    it was made from, which may be a contest of minutes.
    """
    now = time.time_ns()  # noqa: TID251, files have this clock
    ahead: dict[int, list[Path]] = {}
    for path in chain.from_iterable((folder, *folder.rglob("*")) for folder in folders):
        with suppress(OSError):  # somebody else has just removed it
            if (when := path.lstat().st_mtime_ns) > now:
                ahead.setdefault(when, []).append(path)
    for back, when in enumerate(sorted(ahead, reverse=True)):
        then = now - COARSE_NS - back * APART_NS
        for path in ahead[when]:
            with suppress(OSError):
                os.utime(path, ns=(then, then), follow_symlinks=False)

"""A pair of contenders, run outside a study: the rows of both, as a contest would keep them."""

import math
import os
import random
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.ways import Way
from frameworks.registry import framework
from workflows.machine.fingerprint import available_cores
from workflows.measure.pool import cores_for
from workflows.planning.plan import PlannedContender
from workflows.worker.process import WorkerProcess

TIMEOUT_S = 600.0
MINOR_FAULTS = 7  # of /proc/PID/stat, after the name


def contender(text: str) -> PlannedContender:
    """`pytorch/default/cpu/1`, on this interpreter."""
    name, variant, device, threads = text.split("/")
    return PlannedContender(
        framework=name, variant=variant, device=device, threads=int(threads),
        interpreter=sys.executable, required=True,
    )  # fmt: skip


def run(pair: Sequence[PlannedContender], way: Way, data: Path, seed: int) -> pd.DataFrame:
    """Start both in this order, warm both up, and deal the turns, in a random order in each round.

    Returns a row per mini-batch: `side` 0 or 1, `round` (0 is the warm-up), `place` in the turn,
    `ms`, and the `faults` of the whole turn, NaN if the system does not report page faults.
    """
    chance = random.Random(seed)
    if way.variant:
        pair = [one.model_copy(update={"variant": way.variant}) for one in pair]
    rows: list[pd.DataFrame] = []
    with kernel(way.kernel), ExitStack() as stack:
        workers = []
        for one in pair:
            interpreter = stack.enter_context(started(one.interpreter, way, chance))
            one = one.model_copy(update={"interpreter": interpreter})
            worker = stack.enter_context(WorkerProcess(one.interpreter, one))
            worker.send_open(precision="float32", tf32=False)
            workers.append(worker)
        for side, (worker, one) in enumerate(zip(workers, pair, strict=True)):
            worker.receive(TIMEOUT_S)
            if cores := cores_of(one, side, way):
                worker.ask("pin", TIMEOUT_S, cores=cores)
            worker.ask("load", TIMEOUT_S, folder=str(data.resolve()))
            worker.ask("build", TIMEOUT_S, variant=one.variant)
        for number in range(way.rounds + 1):
            for side in chance.sample((0, 1), 2):
                worker = workers[side]
                before = page_faults(worker.process.pid)
                answer = worker.ask("turn", TIMEOUT_S, **turn(way, number, pair[side]))
                faults = page_faults(worker.process.pid) - before
                rows.append(pd.DataFrame(answer).assign(side=side, round=number, faults=faults))
        for worker in workers:
            worker.dismiss()
    table = pd.concat(rows, ignore_index=True)
    table["ms"] = (table["transfer_ns"] + table["step_ns"]) / 1e6
    table["place"] = table.groupby(["side", "round"]).cumcount()
    return table[["side", "round", "place", "ms", "faults"]]


def page_faults(pid: int) -> float:
    """Minor page faults of a process so far, without its children's; NaN if the system does not
    report them."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return math.nan
    after_name = path.read_text().rpartition(")")[2].split()  # which may have spaces, proc(5)
    return float(after_name[MINOR_FAULTS])


def turn(way: Way, number: int, one: PlannedContender) -> dict[str, Any]:
    if number == 0:
        return {"first": 0, "count": way.warmup, "rebuild": None}
    rebuild = way.rebuild
    if rebuild is None and way.name != "untouched":
        rebuild = framework(one.framework).variants[one.variant].rebuilds
    first = way.warmup + (number - 1) * way.turn
    return {"first": first, "count": way.turn, "rebuild": rebuild}


def cores_of(one: PlannedContender, side: int, way: Way) -> list[int]:
    cores = available_cores()
    if way.separate:
        return [cores[-1 - side]]
    return cores_for(one, cores) if way.pinned else []


@contextmanager
def kernel(settings: Mapping[str, str], folder: Path = Path("/proc/sys")) -> Iterator[None]:
    """Change the kernel's settings, named by their files under `folder`, and restore them."""
    before = {name: (folder / name).read_text() for name in settings}
    try:
        for name, value in settings.items():
            (folder / name).write_text(value)
        yield
    finally:
        for name, value in before.items():
            (folder / name).write_text(value)


@contextmanager
def started(interpreter: str, way: Way, chance: random.Random) -> Iterator[str]:
    """An executable that starts the interpreter in this way."""
    variables = [f"{name}={value}" for name, value in way.environment(chance).items()]
    if not (variables or way.prefix):
        yield interpreter
        return
    words = ["env", *variables, *way.prefix, interpreter]
    with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as script:
        script.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path = Path(script.name)
    path.chmod(0o700)
    try:
        yield os.fspath(path)
    finally:
        path.unlink()

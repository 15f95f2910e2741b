"""What the harness costs: its time of a mini-batch over the time of the same calls in a bare loop.

`python -m benchmarks.harness` takes about twenty minutes. Processes run one at a time. In each, the
harness and a bare loop take turns, mini-batch by mini-batch, on the same trainer, in random order.
The harness's time is what it records: data, transfer and step. The bare loop copies, puts, steps
and synchronises as often, and reads the clock twice. The 95 % interval is over processes. The
command ends with 1 if an interval lies above 1.01.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from analysis.format import markdown_table
from analysis.stats.inference import estimate
from benchmarks.options import at_least, positive
from frameworks.conditions import Conditions
from frameworks.contract import Trainer
from frameworks.registry import framework, open_adapter, variables
from frameworks.workloads import Workload, initial_weights
from frameworks.workloads.catalogue import mlp, mnist_cnn
from workflows.output import printing
from workflows.worker.clock import Turns, now

ALLOWED = 1.01
BATCHES, WARM = 8, 5
WORKLOADS = {"mlp": mlp, "mnist-cnn": mnist_cnn}
FRAMEWORKS, VARIANTS = ("pytorch", "tensorflow", "jax"), ("default", "tuned")


class Contender(NamedTuple):
    workload: str
    framework: str
    variant: str


def pairs(contender: Contender, seconds: float, seed: int) -> list[float]:
    """The log-ratios of harness and bare loop, pair by pair, in this process."""
    workload = WORKLOADS[contender.workload]()
    generator = np.random.default_rng(seed)
    adapter = open_adapter(framework(contender.framework), Conditions())
    trainer = adapter.trainer(workload, initial_weights(workload, seed), contender.variant)
    turns = Turns(*mini_batches(workload, generator))
    draw = random.Random(seed)
    for number in range(WARM):
        turns.measure(trainer, number, number)
    logs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number = draw.randrange(BATCHES)
        first = draw.random() < 0.5
        bare_ns = bare(turns, trainer, number) if first else 0
        row = turns.measure(trainer, number, 0)
        bare_ns = bare_ns or bare(turns, trainer, number)
        harness_ns = row["data_ns"] + row["transfer_ns"] + row["step_ns"]
        logs.append(float(np.log(harness_ns / bare_ns)))
    return logs


def bare(turns: Turns, trainer: Trainer, number: int) -> int:
    """The same mini-batch without the harness, in nanoseconds."""
    begin = now()
    np.copyto(turns.host_inputs, turns.inputs[number])
    np.copyto(turns.host_targets, turns.targets[number])
    batch = trainer.put(turns.host_inputs, turns.host_targets)
    trainer.synchronise()
    trainer.step(batch)
    trainer.synchronise()
    taken = now() - begin
    trainer.loss()  # as the harness does behind its clock
    return taken


def mini_batches(workload: Workload, generator: np.random.Generator) -> tuple[Any, Any]:
    inputs = generator.normal(size=(BATCHES, workload.batch, *workload.dataset.shape))
    if classes := workload.dataset.classes:
        targets = generator.integers(0, classes, (BATCHES, workload.batch)).astype(np.int32)
    else:
        targets = np.zeros((BATCHES, *workload.zeros()[1].shape), np.float32)
    return inputs.astype(np.float32), targets


def in_a_process(contender: Contender, seconds: float, seed: int, core: int) -> float:
    """The median log-ratio of a process of its own, on this core."""
    command = [sys.executable, "-m", "benchmarks.harness", "--alone", *contender]
    command += ["--seconds", str(seconds), "--seed", str(seed), "--core", str(core)]
    environment = {**os.environ, **of_variant(contender)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
    return float(np.median(json.loads(done.stdout.splitlines()[-1])))


def of_variant(contender: Contender) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", **variables(contender)}


def shown(contender: Contender, logs: Sequence[float]) -> tuple[list[str], bool]:
    """The row of a contender, and whether its interval lies above what is allowed."""
    ratio, low, high = estimate(logs, 0.0, 0.95).ends
    assert ratio and low and high, "an interval needs two processes"
    names = [contender.workload, framework(contender.framework).title, contender.variant]
    return [*names, f"{ratio:.4f}", f"{low:.4f} to {high:.4f}"], low > ALLOWED


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness", description=__doc__)
    parser.add_argument(
        "--processes", type=at_least(2), default=8, help="of each contender (default: 8)"
    )
    parser.add_argument("--seconds", type=positive, default=8, help="in each (default: 8)")
    parser.add_argument("--on", choices=WORKLOADS, nargs="+", default=[*WORKLOADS])
    parser.add_argument("--seed", type=int, default=1, help="of data, weights and order")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        os.sched_setaffinity(0, {options.core})
        print(json.dumps(pairs(Contender(*options.alone), options.seconds, options.seed)))
        return 0
    core = max(os.sched_getaffinity(0))
    rows, above = [], False
    for contender in (Contender(*names) for names in product(options.on, FRAMEWORKS, VARIANTS)):
        seeds = range(options.seed, options.seed + options.processes)
        logs = [in_a_process(contender, options.seconds, seed, core) for seed in seeds]
        row, more = shown(contender, logs)
        print(" ".join(row), flush=True)
        rows.append(row)
        above |= more
    print(markdown_table(["on", "framework", "variant", "over bare", "95 % interval"], rows))
    return int(above)


if __name__ == "__main__":
    sys.exit(printing("harness", main))

"""A second look at what is too far from float64: other mini-batches, and what float32 can attain.

In a single mini-batch, one sample whose ReLU or max-pooling is undecided moves whole gradients in
any precision that is not exact. What is wrong is wrong on each mini-batch. A gradient may also be a
sum that nearly cancels, and training may magnify rounding. Plain NumPy in float32 shows how much;
float64 is as much closer as its digits are finer.
"""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from frameworks.oracle import Float32OracleTrainer, OracleTrainer
from frameworks.workloads import Weights
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.distance import Astray
from workflows.certify.following import in_numpy, initial
from workflows.certify.judge import FINER, compare, gradient_distances
from workflows.certify.runs import Result, Run, Runner, arrays, float32_run
from workflows.planning.plan import PlannedContender
from workflows.records.schema import CertificateRow, Measured
from workflows.worker.process import WorkerProcess

OTHER_BATCHES = (1, 2)
BOTH = (Float32OracleTrainer, OracleTrainer)
Moves = dict[int, dict[str, tuple[float, float]]]  # by step and tensor, as `Astray`


class Examined(Protocol):
    """The part of an examination that is looked at again."""

    runner: Runner
    contender: PlannedContender
    result: CertificateRow

    def moves(self, own: Result, exact: Result, start: Weights) -> Moves: ...


def attainable(runner: Runner) -> dict[str, float]:
    """How far the gradients of plain NumPy in float32 are from its own in float64: the median over
    the mini-batches of `median_rounding`, at full size, by tensor."""
    folder = runner.place(narrow=False)
    weights, (inputs, targets) = initial(runner.workload, folder), open_batches(folder)
    trainers = [kind(runner.workload, weights) for kind in BOTH]
    found = []
    for batch in (0, *OTHER_BATCHES):
        number = batch % len(inputs)
        own = [one.differentiate(*one.put(inputs[number], targets[number]))[1] for one in trainers]
        found.append(gradient_distances(*own))
    return medians(found)


def attainable_run(runner: Runner, run: Run) -> Measured:
    """How far a run of plain NumPy in float32 is from its own in float64.

    An optimiser that divides by the gradient's size bounds what rounding does in float32, but not
    what it does in float64. So a run in float64 from weights that are off by their last bit counts,
    too, in units of float32.
    """
    workload, folder = runner.trained(run), runner.place(run.narrow)
    weights = initial(workload, folder)
    single, moved, exact = (
        in_numpy(kind(workload, start), folder, start, run.steps, run.weights_at)
        for kind, start in (
            (Float32OracleTrainer, weights),
            (OracleTrainer, last_bit_off(weights)),
            (OracleTrainer, weights),
        )
    )
    rounded, shaken = compare(single, exact), compare(moved, exact)
    rounded.loss = [
        max(one, two / FINER) for one, two in zip(rounded.loss, shaken.loss, strict=True)
    ]
    for step, tensors in rounded.weights.items():
        for name, own in tensors.items():
            tensors[name] = max(own, shaken.weights[step][name] / FINER)
    return rounded


def last_bit_off(weights: Weights) -> Weights:
    """Every number moved to a neighbour, up or down at random."""
    chance = np.random.default_rng(0)
    return {
        name: np.nextafter(w.astype(float), np.where(chance.random(w.shape) < 0.5, -np.inf, np.inf))
        for name, w in weights.items()
    }


def median_rounding(examined: Examined, worker: WorkerProcess, file: Path) -> dict[str, float]:
    """The median over three mini-batches. This comes last because the reference may share the
    process."""
    runner, contender = examined.runner, examined.contender
    own, found, reference = [], [examined.result.rounding], runner.plan.reference
    for batch in OTHER_BATCHES:
        runner.gradients(worker, contender, file, batch=batch)
        own.append(arrays(file))
    with runner.process(reference) as another:
        for batch, gradients in zip(OTHER_BATCHES, own, strict=True):
            runner.gradients(another, reference, file, batch=batch)
            found.append(gradient_distances(gradients, arrays(file)))
    return medians(found)


def medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([one[name] for one in found])) for name in found[0]}


def median_moves(examined: Examined, start: Weights, file: Path) -> Moves:
    """The median over three stretches of mini-batches. Numbers that are not finite are no matter of
    one sample."""
    first = examined.result.astray
    if not all(np.isfinite([*own.values()]).all() for own in first.values()):
        return first
    run = float32_run(examined.runner.runs)
    others = [replace(run, first=number * run.steps) for number in OTHER_BATCHES]
    trained: dict[str, list[Result]] = {}
    for precision in ("float32", "float64"):
        with examined.runner.process(examined.contender, precision) as worker:
            trained[precision] = [
                Result.read(examined.runner.train(worker, examined.contender, one, file), file)
                for one in others
            ]
    pairs = zip(trained["float32"], trained["float64"], strict=True)
    found = [first, *(examined.moves(*pair, start) for pair in pairs)]
    return {
        step: {
            name: Astray(*np.median([each[step].get(name, here) for each in found], axis=0))
            for name, here in tensors.items()
        }
        for step, tensors in first.items()
    }

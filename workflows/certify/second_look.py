"""A second look at what is too far from float64: other mini-batches, and what float32 can attain.

In a single mini-batch, a sample whose ReLU or max-pooling is undecided moves whole gradients in any
precision that is not exact. A mistake is wrong in every mini-batch, so two more are tried. A
gradient may also be a sum that nearly cancels, and training may magnify rounding. Plain NumPy in
float32 shows how much; float64 rounds as much more finely as it has more digits. If no digit is
certain any more, a run is compared up to that step.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product, takewhile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from frameworks.contract import Deviation
from frameworks.oracle import Float32OracleTrainer, MultipliedOut, OracleTrainer
from frameworks.workloads import Weights, Workload, leaves
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.distance import MIDDLE, UPPER, Astray
from frameworks.workloads.residual import BatchNorm
from workflows.certify.as_timed import TRY, UNCERTAIN, wrong_as_timed
from workflows.certify.following import ALONE, in_numpy, initial, once
from workflows.certify.judge import (
    NotComparable,
    compare,
    gradient_distances,
    judge,
    loss_distances,
    wrong_run,
)
from workflows.certify.runs import Result, Run, Runner, arrays, float32_run
from workflows.planning.entries import CertificateEntry
from workflows.planning.plan import PlannedContender
from workflows.records.schema import CertificateRow, Measured
from workflows.records.thresholds import FINER, LOST, WORST
from workflows.worker.process import WorkerProcess

OTHER_BATCHES = (1, 2)
SHAKEN = 3  # runs from weights that are off by their last bit
DRIFT = LOST / WORST  # of idle biases, relative; tensors that follow them can still be compared
FEWEST = 3  # steps; the third loss follows two updates, the second of which has a state
LOOKED_AT = {  # what was measured, and in which run
    "long": "long", "full": "full", "substituted": "substituted",
    "substituted_full": "substituted_full", "followed": "long",
    "followed_full": "full",
}  # fmt: skip
Moves = dict[int, dict[str, tuple[float, float]]]  # by step and tensor, as `Astray`


class Reexamined(Protocol):
    """The part of an examination that is looked at again."""

    runner: Runner
    contender: PlannedContender
    result: CertificateRow
    limits: CertificateEntry
    made: list[Deviation]
    idle: dict[str, float]
    say: Callable[[str], None]

    def moves(self, own: Result, exact: Result, rest: float = MIDDLE) -> Moves: ...


def look_again(examined: Reexamined) -> bool:
    """Find how close plain NumPy comes to itself, if that may excuse a refusal. If something else
    is wrong in float32, it is named first, because float64's distance alone may be rounding.

    Raises:
        NotComparable: hardly a step can be compared.
    """
    row, tolerance = examined.result.model_copy(deep=True), examined.limits.tolerance
    large = examined.runner.large
    runs = {name: run for name in LOOKED_AT if (run := getattr(examined.result, name))}
    if not any(wrong_run(run, tolerance) for run in runs.values()):
        return False
    for name, measured in runs.items():
        setattr(row, name, measured.beginning(FEWEST))
    widest = examined.limits.model_copy(update={"tolerance": max(tolerance, LOST)})
    judge(row, widest, examined.made, large)
    if row.status == "refused":
        if row.reason.startswith(UNCERTAIN):
            examined.result.reason, examined.result.cause = row.reason, ""
        elif row.reason == wrong_as_timed(row, widest, large) != examined.result.reason:
            examined.result.reason = f"{row.reason}; in float64, {examined.result.reason}"
        return False
    near: dict[str, Measured] = {}
    for name, measured in runs.items():
        run = examined.runner.runs[LOOKED_AT[name]]
        if LOOKED_AT[name] not in near:
            examined.say(f"{name} run in NumPy")
            near[LOOKED_AT[name]] = attainable_run(examined.runner, run, examined.idle)
        measured.attainable = near[LOOKED_AT[name]].model_copy(deep=True)
        left = shorten(measured)
        if left < min(run.steps, FEWEST):
            raise NotComparable(
                f"{UNCERTAIN}loss of step {left + 1} in float64 changes by more than "
                f"{LOST / WORST:.0e} with the last bit of the weights; {TRY}"
            )
    return True


def attainable(runner: Runner) -> dict[str, float]:
    """How far the gradients of plain NumPy in float32 are from its own in float64: the median over
    the mini-batches of `median_rounding`, at full size, by tensor."""
    return medians(farthest(runner.workload, runner.place(narrow=False)))


def attainable_first(runner: Runner) -> dict[str, float]:
    """The same of the first mini-batch alone, on which gradients in float64 are compared."""
    return dict(farthest(runner.workload, runner.place(narrow=False))[0])


@once
def farthest(workload: Workload, folder: Path) -> list[dict[str, float]]:
    """The distances of `attainable` for each mini-batch, 1 at most.

    Sums may cancel exactly by chance. So the farthest of several runs counts, from weights that
    are off by their last bit, and with each way of normalising a mini-batch.
    """
    weights, (inputs, targets) = initial(workload, folder), open_batches(folder)
    numbers = [batch % len(inputs) for batch in (0, *OTHER_BATCHES)]

    def gradients(one: OracleTrainer) -> list[Weights]:
        return [one.differentiate(*one.put(inputs[n], targets[n]))[1] for n in numbers]

    normalises = any(isinstance(stage.layer, BatchNorm) for stage in leaves(workload.stages))
    ways = (Float32OracleTrainer, *[MultipliedOut] * normalises)
    exact, each = gradients(OracleTrainer(workload, weights)), []
    for way, start in product(ways, (weights, *shaken(weights, np.float32))):
        own = gradients(way(workload, start))
        each.append([gradient_distances(*pair) for pair in zip(own, exact, strict=True)])
    return [
        {name: min(max(one[name] for one in same), 1) for name in right}
        for same, right in zip(zip(*each, strict=True), exact, strict=True)
    ]


def attainable_run(runner: Runner, run: Run, idle: Mapping[str, float]) -> Measured:
    """How far a run of plain NumPy in float32 is from its own in float64.

    An optimiser that divides by the gradient's size bounds what rounding does in float32, but not
    what it does in float64. So float64 counts, too, in units of float32: runs from weights whose
    last bits differ, and a run whose idle biases are as far off as the contender's (`idle`).
    A number without a correct digit in float32 counts as 1. A loss may agree by chance, so the
    largest distance so far counts.
    """
    weights = given(runner, run)
    with ALONE:
        exact = trained(runner, run, OracleTrainer, weights)
        found = compare(trained(runner, run, Float32OracleTrainer, weights), exact)
        starts = [*shaken(weights), drifted(weights, idle)]
        others = [compare(trained(runner, run, OracleTrainer, one), exact) for one in starts]

    def most(own: float, *others: float) -> float:
        return max(min(own, 1), *(other / FINER for other in others))

    losses = [most(*each) for each in zip(found.loss, *(one.loss for one in others), strict=True)]
    found.loss = [*accumulate(losses, max)]
    for step, tensors in found.weights.items():
        for name, own in tensors.items():
            tensors[name] = most(own, *(one.weights[step][name] for one in others))
    return found


def given(runner: Runner, run: Run) -> Weights:
    """The weights that a run begins with."""
    return initial(runner.trained(run), runner.place(run.narrow))


def trained(runner: Runner, run: Run, kind: type[OracleTrainer], start: Weights) -> Result:
    """The run in NumPy, from these weights."""
    trainer, folder = kind(runner.trained(run), start), runner.place(run.narrow)
    return in_numpy(trainer, folder, start, run.steps, run.weights_at, run.first)


def shorten(measured: Measured) -> int:
    """Leave out of a run what its `attainable` says is lost in rounding: the steps from the first
    loss on for which that holds, and single tensors before. Returns how many steps are left."""
    near = measured.attainable
    assert near
    known = takewhile(lambda error: not lost(error), near.loss)
    steps = len([*known])
    del measured.loss[steps:], near.loss[steps:]
    for step in [*measured.weights]:
        if step > steps:
            del measured.weights[step]
            near.weights.pop(step, None)
        for name in [n for n, error in near.weights.get(step, {}).items() if lost(error)]:
            measured.weights[step].pop(name, None)
    return steps


def lost(error: float) -> bool:
    """Whether rounding in float64 may make more of a number than can be compared."""
    return not error * WORST * FINER <= LOST


def shaken(weights: Weights, precision: type[np.floating[Any]] = np.float64) -> Iterator[Weights]:
    """`SHAKEN` times, with every number moved to a neighbour, up or down at random."""
    ends = precision(-np.inf), precision(np.inf)
    for chance in map(np.random.default_rng, range(SHAKEN)):
        yield {
            name: np.nextafter(w.astype(precision), chance.choice(ends, w.shape).astype(precision))
            for name, w in weights.items()
        }


def drifted(weights: Weights, idle: Mapping[str, float]) -> Weights:
    """The weights with idle biases that are off by so much, relative. No loss shows it, but running
    means do, because they are means of what the biases are added to. `DRIFT` at most, so that a
    contender gives itself no more room."""
    return {
        name: w.astype(np.float64) * (1 + min(idle.get(name, 0.0), DRIFT))
        for name, w in weights.items()
    }


def median_rounding(examined: Reexamined, worker: WorkerProcess, file: Path) -> dict[str, float]:
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


def from_the_start(runner: Runner) -> Run:
    """The run in float32, with the weights before it."""
    run = float32_run(runner.runs)
    return replace(run, weights_at=(0, *run.weights_at))


def median_moves(examined: Reexamined, file: Path) -> Moves:
    """The median over three stretches of mini-batches. Numbers that are not finite are no matter of
    one sample."""
    first = examined.result.astray
    if not all(np.isfinite([*own.values()]).all() for own in first.values()):
        return first
    run = from_the_start(examined.runner)
    others = [replace(run, first=number * run.steps) for number in OTHER_BATCHES]
    results: dict[str, list[Result]] = {}
    for precision in ("float32", "float64"):
        with examined.runner.process(examined.contender, precision) as worker:
            results[precision] = [
                Result.read(examined.runner.train(worker, examined.contender, one, file), file)
                for one in others
            ]
    pairs = zip(results["float32"], results["float64"], strict=True)
    found = [first, *(examined.moves(*pair) for pair in pairs)]
    return {
        step: {
            name: Astray(*np.median([each[step].get(name, here) for each in found], axis=0))
            for name, here in tensors.items()
        }
        for step, tensors in first.items()
    }


def look_at_numpy_in_float32(examined: Reexamined) -> None:
    """Find how far plain NumPy in float32 is from its own float64 in the first steps: its losses,
    and the median of its weights over the same stretches of mini-batches. What cancels may do so
    exactly, by chance. So the farthest counts of runs from weights that are off by their last
    bit."""
    runner, first = examined.runner, from_the_start(examined.runner)
    weights = given(runner, first)
    starts = [weights, *shaken(weights, np.float32)]
    examined.say("float32 run in NumPy")
    found: list[Moves] = []
    for number in (0, *OTHER_BATCHES):
        run = replace(first, first=number * first.steps)
        losses, moves = [], []
        with ALONE:
            exact = trained(runner, run, OracleTrainer, weights)
            for start in starts:
                own = trained(runner, run, Float32OracleTrainer, start)
                losses.append(loss_distances(own.losses, exact.losses))
                moves.append(examined.moves(own, exact, UPPER))
        if not number:
            examined.result.float32_attainable = [*accumulate(map(max, *losses), max)]
        found.append(combined(moves, np.max))
    examined.result.astray_attainable = combined(found, np.median)


def combined(moves: Sequence[Moves], most: Callable[..., Any]) -> Moves:
    """The largest or median (`most`) of each number, of tensors that are in all `moves`."""
    first, *others = moves
    return {
        step: {
            name: Astray(*most([each[step][name] for each in moves], axis=0))
            for name in tensors
            if all(name in each[step] for each in others)
        }
        for step, tensors in first.items()
    }

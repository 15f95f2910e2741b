"""Declared mistakes, followed to the end: plain NumPy makes them in every step of a run.

A deviation that is declared is exactly that. What else a contender does differently (a schedule, a
skipped update, another loss) leads it away from NumPy, however small it is at first.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from frameworks.contract import Deviation
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE, Mistake
from frameworks.workloads import Weights, Workload
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.parsing import suggestion
from workflows.certify.judge import NotComparable, compare, loss_distances, names, of_optimisers
from workflows.certify.runs import Reference, Result, Runner
from workflows.records.schema import CertificateRow, Measured
from workflows.records.thresholds import LOST
from workflows.worker import training

# NumPy computes one thing at a time, because a large network takes gigabytes.
ALONE = RLock()
Found = TypeVar("Found")
# The deviations that a run follows, all if none, and how far it is from NumPy's.
Followed = tuple[list[Deviation], Measured | None]


def once(compute: Callable[..., Found]) -> Callable[..., Found]:
    """Remember the last two results: contenders that differ in threads only are examined side by
    side, and ask for the same result."""
    known = lru_cache(maxsize=2)(compute)

    @wraps(compute)
    def found(*arguments: Any) -> Found:
        with ALONE:
            return known(*arguments)

    return found


def against(
    own: Result, mistakes: Sequence[str], state: Mapping[str, str], workload: Workload, folder: Path
) -> tuple[Measured | None, str]:
    """How far a run is from NumPy's with one of the optimiser's mistakes, if any: the closest, and
    which that is.

    `state` are tensors with their mistakes. Each is compared with the right one or the mistake's,
    whichever is closer after the first step. `folder` has the workload's mini-batches and initial
    weights. None if no mistake of the optimiser fits the workload.

    Raises:
        NotComparable: there is no such mistake, or it is none of an optimiser.
    """
    component = f"optimiser.{workload.optimiser.kind}"
    for mistake in [*mistakes, *state.values()]:
        known = f"; {component} may be {', '.join(names(component))}" * (mistake in mistakes)
        named = f"its Deviation names the mistake {mistake!r}"
        if mistake not in CATALOGUE:
            raise NotComparable(f"{named}{suggestion(mistake, CATALOGUE)}{known}")
        if mistake in mistakes and not of_optimisers(mistake):
            raise NotComparable(f"{named}, which is none of an optimiser{known}")
    found: dict[str, Measured] = {}
    for tried in mistakes or [""]:
        made = (tried,) if tried else ()
        if right := mistaken(made, workload, folder, len(own.losses), tuple(own.weights)):
            found[tried] = compare(own, right)
            for mistake in dict.fromkeys(state.values()):
                tensors = [name for name in state if state[name] == mistake]
                with_it = (*made, mistake)
                if another := mistaken(with_it, workload, folder, len(own.losses),
                                       tuple(own.weights)):  # fmt: skip
                    closer(found[tried], compare(own, another), tensors)
    closest = min(found, key=lambda one: found[one].worst_loss, default="")
    return found.get(closest), closest


def turns_off(
    row: CertificateRow, deviations: Sequence[Deviation], reference: Reference, runner: Runner
) -> str:
    """What is wrong with the turns in float64 of a contender that declares a deviation, "" if
    nothing is. Its timed turns are compared with them. So their losses must be NumPy's with one of
    the declared mistakes, or the reference's if the optimiser makes none. Compared are as many of
    the last steps as a certificate has. A deviation without a mistake cannot be followed."""
    mistakes = [deviation.mistake for deviation in deviations if deviation.mistake]
    if row.status != "declared" or not row.turns or (deviations and not mistakes):
        return ""
    own, off, place = row.turns.losses, [], runner.place(narrow=False)
    right = [] if mistakes else reference.turns.losses
    for mistake in mistakes or [""]:
        found, left = [], runner.limits.steps
        for number, (first, steps) in reversed([*enumerate(runner.turns)]):
            if (compared := min(steps, len(own[number]), left)) > 0:
                exact = (
                    turn_in_numpy(mistake, runner.workload, place, first, compared)
                    if mistake
                    else right[number][:compared]
                )
                found += loss_distances(own[number][:compared], exact)
                left -= compared
        off.append(max(found, default=math.inf))
    if min(off) <= LOST:
        return ""
    whose = "NumPy's with the declared mistake" if mistakes else "the reference's"
    return f"in float64 the losses of its turns are {min(off):.1e} off {whose} (allowed {LOST:g})"


def turn_in_numpy(
    mistake: str, workload: Workload, folder: Path, first: int, steps: int
) -> list[float]:
    """The losses of a turn; none if the mistake does not fit the workload."""
    with ALONE:
        weights = initial(workload, folder)
        trainer = with_all([CATALOGUE[mistake]], workload, weights)
        return in_numpy(trainer, folder, weights, steps, [], first).losses if trainer else []


def closer(measured: Measured, another: Measured, tensors: Sequence[str]) -> None:
    """Take over the distances of tensors that begin closer in the other run."""
    begin = min((step for step in measured.weights if step), default=0)
    for name in tensors:
        if another.weights[begin][name] < measured.weights[begin][name]:
            for step, own in measured.weights.items():
                own[name] = another.weights[step][name]


@once
def mistaken(
    made: tuple[str, ...], workload: Workload, folder: Path, steps: int, at: tuple[int, ...]
) -> Result | None:
    """NumPy's run with these mistakes; None if one does not fit the workload."""
    weights = initial(workload, folder)
    trainer = with_all([CATALOGUE[name] for name in made], workload, weights)
    return in_numpy(trainer, folder, weights, steps, at) if trainer else None


def with_all(
    mistakes: Sequence[Mistake], workload: Workload, weights: Weights
) -> OracleTrainer | None:
    """A trainer that makes all of these mistakes, which are about different things; None if one
    does not fit the workload."""
    kinds: list[type[OracleTrainer]] = []
    for mistake in mistakes:
        if not (trainer := mistake.trainer(workload, weights)):
            return None
        workload = trainer.workload  # which may be another
        kinds += [type(trainer)] * (type(trainer) is not OracleTrainer)
    together: type[OracleTrainer] = type("Together", (*kinds, OracleTrainer), {})
    return together(workload, weights)


def initial(workload: Workload, folder: Path) -> Weights:
    with np.load(folder / "weights.npz") as stored:
        return {key: stored[key] for key in workload.tensor_shapes}


def in_numpy(
    trainer: OracleTrainer,
    folder: Path,
    weights: Weights,
    steps: int,
    at: Sequence[int],
    first: int = 0,
) -> Result:
    """NumPy's run of `steps` steps from mini-batch `first` on, with its weights after the steps
    `at`."""
    inputs, targets = open_batches(folder)

    def batch(step: int) -> training.Batch:
        number = (first + step) % len(inputs)
        return inputs[number], targets[number]

    with np.errstate(all="ignore"):  # numbers of a mistake may overflow
        trained = training.train(trainer, batch, weights, steps, [*at], restart=0)
    return Result(trained.losses, trained.weights, [])

"""Compares the weights after a timed float32 turn with those after the same turn in float64.

They are read after one turn of each contest. A part of a step does not change the weights: after
its turn they must be the initial ones to the last bit.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.long_turns import LONG, Away, room_of_weights
from analysis.findings.fairness.timed_turns import TURN, Expected, Turns
from analysis.format import percent
from frameworks.workloads.distance import errors, far_away, hidden, middle
from workflows.records.schema import Float64Turns
from workflows.records.thresholds import REDUCED_ASTRAY, UNDECIDED

# The typical error of weights, in moves of the tensor, and the share of numbers that are far off.
# If half of the tensors are within both, the others may have `ANY` times that error and the share
# `MORE`. Float32 decided a ReLU of an MNIST CNN differently, so that a right contender was 6.5e-2
# off in a bias, with 34 % of its numbers far off.
ASTRAY, ANY, MORE = (2e-2, 0.25), 5, 0.4
# In workloads whose float32 gradients may be further off than this, every tensor may have the share
# `MORE`. In AlexNet-S without padding, 30 % of a right contender's kernel were far off.
LED_BY_FEW = 1e-4
# The mean error may be this much of the share that may usually be far off: it would be
# as large as the share if these numbers were not updated at all. Right contenders reached 0.073 of
# 0.15, and 0.18 of 0.24 in workloads as above.
MEAN = 0.6


class Within(NamedTuple):
    """The limits of a tensor's typical error, of the share of its numbers that are far away, and of
    its mean error."""

    typical: float
    off: float
    mean: float

    @classmethod
    def of(cls, typical: float, off: float) -> "Within":
        return cls(typical, off, max(MEAN * off, 2 * typical))


AfterTurn = tuple[BenchmarkId, Expected, dict[str, Away]]  # errors of weights after a turn
Limited = tuple[BenchmarkId, Expected, dict[str, Away], dict[str, Within]]


def with_limits(found: Sequence[AfterTurn], limits: tuple[float, float]) -> Iterator[Limited]:
    """What `weights_astray` found, with the limits of each tensor that can be compared. `limits`:
    the typical error and the share far away that half of the tensors must keep to."""
    long: dict[str, dict[BenchmarkId, dict[str, Away]]] = {}
    for one, expected, tensors in found:
        if expected.turns.steps > LONG:  # of several replicates, the worst counts
            worst = long.setdefault(one.workload, {}).setdefault(one, {})
            for name, error in tensors.items():
                worst[name] = Away(*np.maximum(error, worst.get(name, error)).tolist())
    grown = {name: room_of_weights(own) for name, own in long.items()}
    for one, expected, tensors in found:
        if expected.room or limits == REDUCED_ASTRAY:
            own = Within.of(*REDUCED_ASTRAY)
        else:
            own = with_odd_tensors(limits, tensors.values(), expected.rounding > LED_BY_FEW)
        allowed = dict.fromkeys(tensors, own)
        if expected.turns.steps > LONG:
            for name, error in tensors.items():
                if room := grown[one.workload].get(name):
                    allowed[name] = Within(*np.maximum(own, Within.of(*room)).tolist())
                elif math.isfinite(error.typical):
                    del allowed[name]
        if allowed or not tensors:
            yield one, expected, tensors, allowed


def with_odd_tensors(
    limits: tuple[float, float], tensors: Collection[Away], led_by_few: bool
) -> Within:
    """The limits of tensors of which float32 may have led some, at most half, elsewhere."""
    typical, share = limits[0], max(limits[1], MORE) if led_by_few else limits[1]
    usual = Within.of(typical, share)
    right = sum(error.typical <= typical and error.off <= share for error in tensors)
    if 2 * right < len(tensors):
        return usual
    return Within(ANY * typical, max(share, MORE), usual.mean)


def wrong_weights(found: Iterable[Limited]) -> Iterator[tuple[BenchmarkId, str]]:
    """A clause for each tensor that is too far from float64's after the turn that was read."""
    for one, expected, tensors, allowed in found:
        for name, within in allowed.items():
            error = tensors[name]
            if not all(own <= most for own, most in zip(error, within, strict=True)):
                yield (
                    one,
                    f"after the timed turn of round {expected.turns.round}, {name} is typically "
                    f"{percent(error.typical)} of its move away from {expected.whose} "
                    f"(tolerance {percent(within.typical)}), on average {percent(error.mean)} "
                    f"(tolerance {percent(within.mean)}), and {percent(error.off)} of its numbers "
                    f"are far away (tolerance {percent(within.off)})",
                )


def changed(machine: Machine, turns: Turns) -> Iterator[tuple[BenchmarkId, str]]:
    """Parts of a step that changed the weights, with a sentence for each."""
    for one, _, weights in weights_read(machine):
        expected = turns.get(one)
        if expected and expected.still:
            start = expected.turns.start
            moved = [name for name in start if weights.get(name) != start[name]]
            if moved:
                after = f"after the timed turn of round {expected.turns.round}"
                yield one, f"{after}, {moved[0]} is not as it was given"


def weights_read(machine: Machine) -> Iterator[tuple[BenchmarkId, int, Mapping[str, list[float]]]]:
    """Each contender that lived to the end of a contest in which weights were read, the replicate,
    and the weights."""
    for contest in machine.records.contests:
        if any(contender.weights for contender in contest.contenders):
            for contender in contest.contenders:
                if contender.status == "ok":
                    one = BenchmarkId.of(contest.workload, contender)
                    yield one, contest.replicate, contender.weights


def weights_astray(
    machine: Machine, batches: pd.DataFrame, turns: Turns, without: Collection[tuple[Any, ...]] = ()
) -> Iterator[AfterTurn]:
    """For each contender whose weights were read after a turn, how far each tensor is from
    float64's; `without` some turns."""
    taken = batches.groupby(TURN)["step"]
    counts = taken.max() - taken.min() + 1  # of a long turn, not every row is kept
    for one, replicate, weights in weights_read(machine):
        if one not in turns or not (machine.compares(one) or machine.format(one)):
            continue
        expected = turns[one]
        if expected.rounding > UNDECIDED:
            continue  # float32 decides ReLUs differently and leads its weights elsewhere
        turn = (*one, replicate, expected.turns.round)
        steps = 0 if turn in without else counts.get(turn, 0)
        if 0 < steps == expected.turns.steps:  # or an earlier record has a part of the turn
            yield one, expected, tensors_astray(weights, expected.turns, steps)


def hidden_updates(machine: Machine) -> dict[str, tuple[list[str], int]]:
    """By workload, tensors whose training timed turns cannot show, because storing in float32 may
    lose most of it, and the number of all tensors. Workloads without any are left out."""
    found = {}
    for record in machine.records.certificates:
        compared = record.rounding <= UNDECIDED and record.workload not in found
        if record.turns and record.turns.weights and compared:
            right, start = (
                {name: np.array(values) for name, values in own.items()}
                for own in (record.turns.weights, record.turns.start)
            )
            if names := hidden(right, start, record.turns.steps):
                found[record.workload] = names, len(right)
    return found


def tensors_astray(
    weights: Mapping[str, list[float]], right: Float64Turns, steps: int
) -> dict[str, Away]:
    if {n: len(w) for n, w in weights.items()} != {n: len(w) for n, w in right.weights.items()}:
        return {"a tensor that is not as asked for": Away(math.inf, 1.0, 1.0)}
    own, exact = ({n: np.array(w) for n, w in each.items()} for each in (weights, right.weights))
    start = {name: np.array(values, np.float32) for name, values in right.start.items()}
    return {
        name: Away(middle(found), far_away(found), float(np.minimum(found, 1.0).mean()))
        for name, found in errors(own, exact, start, steps, alone=True).items()
    }

"""Says where a recorded run first differs from the right one, for causes without a name."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from frameworks.workloads import Weights
from workflows.worker.recorded_run import STEPS, Moment, RecordedRun

AGREES = 1e-11  # relative; dividing by sqrt(v) makes rounding of small gradients visible
ALIKE = 1e-6  # relative, for a constant factor or a rearrangement
FORMATS = {"float32": 23, "TF32 or float16": 10, "bfloat16": 7}  # bits after the point


def distance(value: Any, right: Any) -> float:
    """L2 distance over the right value's norm, of the entries that are finite in both.

    Infinite if shapes differ, or if an entry is finite in only one of the two.
    """
    value, right = np.asarray(value, np.float64), np.asarray(right, np.float64)
    finite = np.isfinite(value)
    if value.shape != right.shape or (finite != np.isfinite(right)).any():
        return float("inf")
    difference = float(np.linalg.norm(value[finite] - right[finite]))
    norm = float(np.linalg.norm(right[finite]))
    return difference / norm if norm else 0.0 if not difference else float("inf")


def divergence(seen: RecordedRun, right: RecordedRun) -> str:
    """The first thing that is wrong, in the order in which a step is computed."""
    return next(divergences(seen, right))


def divergences(seen: RecordedRun, right: RecordedRun) -> Iterator[str]:
    start, given = seen.moments[0].weights, right.moments[0].weights
    wrong = differing(start, given)
    if wrong:
        found = {name: rearrangement(start[name], given[name]) for name in wrong}
        yield (
            f"the weights before the first step are not those given: {by_tensor(found, len(given))}"
        )
    for step, moment in enumerate(seen.moments):
        bad = ["loss", *(n for n, w in moment.weights.items() if not np.isfinite(w).all())]
        if np.isfinite(moment.loss):
            bad = bad[1:]
        if bad:
            yield f"{listed(bad)}: not a finite number {when(step)}"
    pairs = zip(seen.moments, right.moments, strict=True)
    same_losses = all(distance(one.loss, other.loss) <= AGREES for one, other in pairs)
    if not same_losses and (still := idle_steps(seen.moments, right.moments)):
        moving = [n for n in range(1, STEPS + 1) if n not in still]
        rest = f"only at {listed([str(n) for n in moving])}" if moving else "at none"
        yield f"weights move {rest} of {STEPS} steps: look for updates that are skipped or gathered"
    yield from first_step(seen, right)
    yield from later_steps(seen.moments, right.moments, "gradient" if seen.gradients else "loss")


def idle_steps(seen: list[Moment], right: list[Moment]) -> list[int]:
    """Steps that change no weight although the right step does."""

    def moves(moments: list[Moment], n: int) -> bool:
        pairs = zip(moments[n].weights.values(), moments[n - 1].weights.values(), strict=True)
        return any(not np.array_equal(now, before) for now, before in pairs)

    return [n for n in range(1, STEPS + 1) if moves(right, n) and not moves(seen, n)]


def first_step(seen: RecordedRun, right: RecordedRun) -> Iterator[str]:
    loss, right_loss = seen.moments[1].loss, right.moments[1].loss
    wrong = differing(seen.gradients, right.gradients)
    start = right.moments[0].weights
    found = {n: relation(seen.gradients[n], right.gradients[n], start[n]) for n in wrong}
    hint = "" if any("times" in text for text in found.values()) else reduced_precision(seen, right)
    gradient = by_tensor(found, len(right.gradients))
    if distance(loss, right_loss) > AGREES:
        yield (
            f"the first loss is {loss:.12g} where {right_loss:.12g} is right "
            f"({relation(loss, right_loss)}), and of the first gradient, "
            f"{gradient or 'all is right'}; look at the forward pass and the loss{hint}"
        )
    if wrong:
        yield (
            f"the first loss is right, and of the first gradient, {gradient}; look at the backward "
            f"pass, and at what changes gradients before the update{hint}"
        )


def later_steps(seen: list[Moment], right: list[Moment], known: str) -> Iterator[str]:
    """What differs after the first step; `known` names the part of that step which is right."""
    steps = range(1, len(right))
    losses = [n for n in steps if distance(seen[n].loss, right[n].loss) > AGREES]
    moved = [n for n in steps if differing(seen[n].weights, right[n].weights)]
    if not moved:
        n = losses[0]
        yield (
            f"the weights agree at every step, and loss() does not, first {when(n)} "
            f"({relation(seen[n].loss, right[n].loss)})"
        )
    n = moved[0]
    found = {}
    for name in differing(seen[n].weights, right[n].weights):
        change, right_change = (m[n].weights[name] - m[n - 1].weights[name] for m in (seen, right))
        found[name] = relation(change, right_change, right[n - 1].weights[name])
    changes = by_tensor(found, len(right[n].weights))
    if not losses:
        yield (
            f"every loss agrees, and weights() does not, first {when(n)}, where of the change "
            f"{changes}"
        )
    if n > STEPS:
        yield f"all agrees until restart(), and departs {when(n)}: look at what restart() leaves"
    if losses[:1] == [n] and distance(seen[n].loss, right[n].loss) > ALIKE:
        yield (
            f"step {n} starts from the right weights and has another loss "
            f"({relation(seen[n].loss, right[n].loss)}); look at the mini-batch that it trains on"
        )
    yield (
        f"the first {known} is right and the update is not, first {when(n)}, where of the change "
        f"{changes}; look at the optimiser, its numbers and its state"
    )


def differing(some: Weights, others: Weights) -> list[str]:
    return [n for n, w in others.items() if n in some and distance(some[n], w) > AGREES]


def rearrangement(value: np.ndarray, given: np.ndarray) -> str:
    """What a tensor has become: zero, transposed, reshaped, flipped, scaled, or another."""
    if not value.any():
        return "zero"
    unchanged = tuple(range(given.ndim))
    for axes in permutations(unchanged):
        moved = given.transpose(axes)
        if distance(value, moved) < ALIKE and axes != unchanged:
            return f"transposed {axes}"
        if distance(value, moved.reshape(given.shape)) < ALIKE and moved.shape != given.shape:
            return f"transposed {axes} and reshaped"
        if distance(value, given.reshape(moved.shape).transpose(np.argsort(axes))) < ALIKE:
            return "rounded" if axes == unchanged else "reshaped, not transposed"
    for axis in unchanged:
        if distance(value, np.flip(given, axis)) < ALIKE:
            return f"flipped along axis {axis}"
    if distance(np.sort(value.ravel()), np.sort(given.ravel())) < ALIKE:
        return "of the same values in other places"
    found = relation(value, given)
    return found if "times" in found else "of other values"


def relation(value: Any, right: Any, weights: Any = None) -> str:
    """How a value is related to the right one.

    `2.5 times the right one` if the factor is constant. `the right one plus 0.01 times the
    weights` if that is the difference. Otherwise how far the value is off.
    """
    value, right = np.asarray(value, np.float64), np.asarray(right, np.float64)
    norm = float(np.sum(right**2))
    factor = float(np.sum(value * right)) / norm if norm else 0.0
    if not value.any():
        return "zero"
    if distance(value, factor * right) < ALIKE and abs(factor - 1) > ALIKE:
        return f"{factor:.6g} times the right one"
    if weights is not None and np.any(weights):
        added = float(np.sum((value - right) * weights) / np.sum(np.square(weights)))
        if distance(value - right, added * np.asarray(weights, np.float64)) < ALIKE:
            return f"the right one plus {added:.3g} times the weights (weight decay?)"
    return f"off by {distance(value, right):.1e}"


def reduced_precision(seen: RecordedRun, right: RecordedRun) -> str:
    """The reduced precision that explains the first gradient's errors by their size, if any."""
    kinds = {w.dtype.name for w in seen.moments[0].weights.values()} - {"float64"}
    if kinds:
        return f" (weights() gives {listed(sorted(kinds))}: look for what is not float64)"
    pairs = [(seen.gradients.get(n, g), g) for n, g in right.gradients.items()]
    error = float(np.median([distance(*pair) for pair in pairs]))
    if not 0 < error < 1 or len({relation(*pair) for pair in pairs}) == 1:
        return ""
    digits = -np.log2(error)
    title, bits = min(FORMATS.items(), key=lambda item: abs(item[1] + 1 - digits))
    if abs(bits + 1 - digits) > 4:
        return ""
    return (
        f" (if nothing else explains it: errors of about {error:.0e} are those of {title} "
        "arithmetic)"
    )


def when(step: int) -> str:
    if step > STEPS:
        return f"at step {step - STEPS} after restart()"
    return f"at step {step}" if step else "before the first step"


def by_tensor(found: dict[str, str], count: int) -> str:
    """What holds of each tensor, written once if it holds of all `count`."""
    if len(found) == count > 1 and len(set(found.values())) == 1:
        return f"every tensor is {found.popitem()[1]}"
    clearest = sorted(found.items(), key=lambda item: (item[1] != "zero", "times" not in item[1]))
    return listed([f"{name} is {text}" for name, text in clearest])


def listed(parts: list[str], most: int = 4) -> str:
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more

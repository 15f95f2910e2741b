"""Where a rehearsal first departs from the truth, in words: for causes that no known mistake
reproduces."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from frameworks.oracle.mistakes.precision import FORMATS
from frameworks.workloads import Weights
from workflows.worker.recorded_run import STEPS, Moment, RecordedRun

AGREES = 1e-11  # relative; dividing by sqrt(v) makes rounding of small gradients visible
ALIKE = 1e-6  # relative, for a constant factor or a rearrangement


def apart(value: Any, reference: Any) -> float:
    """L2 distance over the reference's norm, of the entries that are finite in both; infinite
    where one alone is finite, or shapes differ."""
    value, reference = np.asarray(value, np.float64), np.asarray(reference, np.float64)
    finite = np.isfinite(value)
    if value.shape != reference.shape or (finite != np.isfinite(reference)).any():
        return float("inf")
    distance = float(np.linalg.norm(value[finite] - reference[finite]))
    norm = float(np.linalg.norm(reference[finite]))
    return distance / norm if norm else 0.0 if not distance else float("inf")


def departure(seen: RecordedRun, true: RecordedRun) -> str:
    """The first thing that is wrong, in the order in which a step is made."""
    return next(departures(seen, true))


def departures(seen: RecordedRun, true: RecordedRun) -> Iterator[str]:
    start, right = seen.moments[0].weights, true.moments[0].weights
    wrong = differing(start, right)
    if wrong:
        found = {name: arrangement(start[name], right[name]) for name in wrong}
        yield f"the weights before the first step are not those given: {each(found, len(right))}"
    for step, moment in enumerate(seen.moments):
        bad = ["loss", *(n for n, w in moment.weights.items() if not np.isfinite(w).all())]
        if np.isfinite(moment.loss):
            bad = bad[1:]
        if bad:
            yield f"{listed(bad)}: not a finite number {when(step)}"
    pairs = zip(seen.moments, true.moments, strict=True)
    same_losses = all(apart(mine.loss, right.loss) <= AGREES for mine, right in pairs)
    if not same_losses and (still := idle(seen.moments, true.moments)):
        moving = [n for n in range(1, STEPS + 1) if n not in still]
        rest = f"only at {listed([str(n) for n in moving])}" if moving else "at none"
        yield f"weights move {rest} of {STEPS} steps: look for updates that are skipped or gathered"
    yield from first_step(seen, true)
    yield from later(seen.moments, true.moments, "gradient" if seen.gradients else "loss")


def idle(seen: list[Moment], true: list[Moment]) -> list[int]:
    """Steps after which all weights are as they were, where the right ones are not."""

    def moves(moments: list[Moment], n: int) -> bool:
        pairs = zip(moments[n].weights.values(), moments[n - 1].weights.values(), strict=True)
        return any(not np.array_equal(now, before) for now, before in pairs)

    return [n for n in range(1, STEPS + 1) if moves(true, n) and not moves(seen, n)]


def first_step(seen: RecordedRun, true: RecordedRun) -> Iterator[str]:
    loss, right = seen.moments[1].loss, true.moments[1].loss
    wrong = differing(seen.gradients, true.gradients)
    start = true.moments[0].weights
    factors = {n: times(seen.gradients[n], true.gradients[n], start[n]) for n in wrong}
    hint = "" if any("times" in text for text in factors.values()) else precision(seen, true)
    parts = each(factors, len(true.gradients))
    if apart(loss, right) > AGREES:
        yield (
            f"the first loss is {loss:.12g} where {right:.12g} is right ({times(loss, right)}), "
            f"and of the first gradient, {parts or 'all is right'}; look at the forward pass and "
            f"the loss{hint}"
        )
    if wrong:
        yield (
            f"the first loss is right, and of the first gradient, {parts}; look at the backward "
            f"pass, and at what changes gradients before the update{hint}"
        )


def later(seen: list[Moment], true: list[Moment], known: str) -> Iterator[str]:
    """`known` is what is right of the first step."""
    steps = range(1, len(true))
    losses = [n for n in steps if apart(seen[n].loss, true[n].loss) > AGREES]
    moved = [n for n in steps if differing(seen[n].weights, true[n].weights)]
    if not moved:
        n = losses[0]
        factor = times(seen[n].loss, true[n].loss)
        yield f"the weights agree at every step, and loss() does not, first {when(n)} ({factor})"
    n = moved[0]
    if not losses:
        yield f"every loss agrees, and weights() does not, first {when(n)}"
    if n > STEPS:
        yield f"all agrees until restart(), and departs {when(n)}: look at what restart() leaves"
    found = {}
    for name in differing(seen[n].weights, true[n].weights):
        mine, right = (m[n].weights[name] - m[n - 1].weights[name] for m in (seen, true))
        found[name] = times(mine, right, true[n - 1].weights[name])
    yield (
        f"the first {known} is right and the update is not, first {when(n)}, where of the change "
        f"{each(found, len(true[n].weights))}; look at the optimiser, its numbers and its state"
    )


def differing(some: Weights, others: Weights) -> list[str]:
    return [n for n, w in others.items() if n in some and apart(some[n], w) > AGREES]


def arrangement(value: np.ndarray, given: np.ndarray) -> str:
    """What has become of a tensor: zero, transposed, reshaped, flipped, scaled, or another."""
    if not value.any():
        return "zero"
    for axes in permutations(range(given.ndim)):
        moved = given.transpose(axes)
        if apart(value, moved) < ALIKE and axes != tuple(range(given.ndim)):
            return f"transposed {axes}"
        if apart(value, moved.reshape(given.shape)) < ALIKE and moved.shape != given.shape:
            return f"transposed {axes} and reshaped"
        if apart(value, given.reshape(moved.shape).transpose(np.argsort(axes))) < ALIKE:
            return "rounded" if axes == tuple(range(given.ndim)) else "reshaped, not transposed"
    for axis in range(given.ndim):
        if apart(value, np.flip(given, axis)) < ALIKE:
            return f"flipped along axis {axis}"
    if apart(np.sort(value.ravel()), np.sort(given.ravel())) < ALIKE:
        return "of the same values in other places"
    factor = times(value, given)
    return factor if "times" in factor else "of other values"


def times(value: Any, right: Any, weights: Any = None) -> str:
    """`2.5 times the right one`, if it is by a constant factor, or what is added if that is a
    multiple of the weights, as weight decay does; else how far off."""
    value, right = np.asarray(value, np.float64), np.asarray(right, np.float64)
    norm = float(np.sum(right**2))
    factor = float(np.sum(value * right)) / norm if norm else 0.0
    if not value.any():
        return "zero"
    if apart(value, factor * right) < ALIKE and abs(factor - 1) > ALIKE:
        return f"{factor:.6g} times the right one"
    if weights is not None and np.any(weights):
        added = float(np.sum((value - right) * weights) / np.sum(np.square(weights)))
        if apart(value - right, added * np.asarray(weights, np.float64)) < ALIKE:
            return f"the right one plus {added:.3g} times the weights (weight decay?)"
    return f"off by {apart(value, right):.1e}"


def precision(seen: RecordedRun, true: RecordedRun) -> str:
    """Which reduced precision has errors of the size of the first gradient's, if any."""
    kinds = {w.dtype.name for w in seen.moments[0].weights.values()} - {"float64"}
    if kinds:
        return f" (weights() gives {listed(sorted(kinds))}: look for what is not float64)"
    pairs = [(seen.gradients.get(n, g), g) for n, g in true.gradients.items()]
    error = float(np.median([apart(*pair) for pair in pairs]))
    if not 0 < error < 1 or len({times(*pair) for pair in pairs}) == 1:
        return ""
    digits = -np.log2(error)
    title, bits = min(FORMATS.items(), key=lambda item: abs(item[1] + 1 - digits))
    if abs(bits + 1 - digits) > 4:
        return ""
    return f" (errors of about {error:.0e}, as here, are those of {title} arithmetic)"


def when(step: int) -> str:
    if step > STEPS:
        return f"at step {step - STEPS} after restart()"
    return f"at step {step}" if step else "before the first step"


def each(found: dict[str, str], count: int) -> str:
    """What was found of each tensor, said once where it is the same of all `count`."""
    if len(found) == count > 1 and len(set(found.values())) == 1:
        return f"every tensor is {found.popitem()[1]}"
    telling = sorted(found.items(), key=lambda item: (item[1] != "zero", "times" not in item[1]))
    return listed([f"{name} is {text}" for name, text in telling])


def listed(parts: list[str], most: int = 4) -> str:
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more

"""Says where a recorded run first differs from the right one, for causes without a name."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from frameworks.workloads import Weights
from workflows.records.thresholds import TOLERANCE
from workflows.worker.recorded_run import STEPS, Moment, RecordedRun

ALIKE = 1e-6  # relative, for a constant factor or a rearrangement
FORMATS = {"float32": 23, "TF32 or float16": 10, "bfloat16": 7}  # bits after the point
FEW = 3  # numbers other than zero: one number is always a multiple of another


class Relation(NamedTuple):
    """How a value is related to the right one; `explained` if that is all there is to it."""

    text: str
    explained: bool = False


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
        found = {name: Relation(rearrangement(start[name], given[name])) for name in wrong}
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
    same_losses = all(distance(one.loss, other.loss) <= TOLERANCE for one, other in pairs)
    if not same_losses and (still := idle_steps(seen.moments, right.moments)):
        moving = [n for n in range(1, STEPS + 1) if n not in still]
        rest = f"only at {listed([str(n) for n in moving])}" if moving else "at none"
        yield f"weights move {rest} of {STEPS} steps: look for updates that are skipped or gathered"
    if same_losses and misread(seen.moments, right.moments):
        yield from later_steps(seen.moments, right.moments, "loss")
    yield from first_step(seen, right)
    yield from later_steps(seen.moments, right.moments, "gradient" if seen.gradients else "loss")


def misread(seen: list[Moment], right: list[Moment]) -> bool:
    """Whether weights differ before the last step, although each loss after them is right."""
    pairs = zip(seen[:-1], right[:-1], strict=True)
    return any(differing(one.weights, other.weights) for one, other in pairs)


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
    found = relations(seen.gradients, right.gradients, start, wrong)
    hint = "" if any(one.explained for one in found.values()) else reduced_precision(seen, right)
    gradient = by_tensor(found, len(right.gradients))
    if distance(loss, right_loss) > TOLERANCE:
        yield (
            f"the first loss is {loss:.12g} where {right_loss:.12g} is right "
            f"({ratio(loss, right_loss)}), and of the first gradient, "
            f"{gradient or 'all is right'}; look at the mini-batch, the forward pass and the loss"
            f"{hint}"
        )
    if wrong:
        # A step of plain SGD shows the gradient, and its learning rate scales all of it alike.
        alike = gradient.startswith("every tensor is ") and gradient.endswith("times the right one")
        rate = "the learning rate" if alike else "rates that only some tensors have"
        yield (
            f"the first loss is right, and of the first gradient, {gradient}; look at the backward "
            f"pass, at {rate}, and at what changes gradients before the update or weights after "
            f"it{hint}"
        )


def later_steps(seen: list[Moment], right: list[Moment], known: str) -> Iterator[str]:
    """What differs after the first step; `known` names the part of that step which is right."""
    steps = range(1, len(right))
    losses = [n for n in steps if distance(seen[n].loss, right[n].loss) > TOLERANCE]
    moved = [n for n in steps if differing(seen[n].weights, right[n].weights)]
    if not moved:
        n = losses[0]
        yield (
            f"the weights agree at every step, and loss() does not, first {when(n)} "
            f"({ratio(seen[n].loss, right[n].loss)})"
        )
    n = moved[0]
    wrong, before = differing(seen[n].weights, right[n].weights), right[n - 1].weights
    change, right_change = (
        {name: m[n].weights[name] - m[n - 1].weights[name] for name in wrong} for m in (seen, right)
    )
    found = relations(change, right_change, before, wrong)
    changes = by_tensor(found, len(right[n].weights))
    if not losses and n <= STEPS:
        yield (
            f"every loss agrees, and weights() does not, first {when(n)}, where of the change "
            f"{changes}; look at what weights() gives"
        )
    if n > STEPS:
        yield f"all agrees until restart(), and departs {when(n)}: look at what restart() leaves"
    if losses[:1] == [n] and distance(seen[n].loss, right[n].loss) > ALIKE:
        yield (
            f"step {n} starts from the right weights and has another loss "
            f"({ratio(seen[n].loss, right[n].loss)}); look at the mini-batch that it trains on, "
            "and at state that a layer keeps"
        )
    yield (
        f"the first {known} is right and the update is not, first {when(n)}, where of the change "
        f"{changes}; look at the optimiser, its numbers and its state"
    )


def differing(some: Weights, others: Weights) -> list[str]:
    return [n for n, w in others.items() if n in some and distance(some[n], w) > TOLERANCE]


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
    times = factor(value, given)
    return f"{times:.6g} times the right one" if times else "of other values"


def relations(
    seen: Weights, right: Weights, weights: Weights, names: list[str]
) -> dict[str, Relation]:
    """How each of these tensors is related to the right one.

    `2.5 times the right one` if the factor is constant. `the right one plus 0.01 times the
    weights` if that is the difference, of every tensor with the same number. Otherwise how far the
    tensor is off. A tensor of few numbers has only what others have.
    """
    pairs = {name: (seen[name], right[name]) for name in names}
    factors = {name: times for name, pair in pairs.items() if (times := factor(*pair))}
    decays = {name: k for name, pair in pairs.items() if (k := decay(*pair, weights[name]))}
    k = next(iter(decays.values()), 0.0)
    decayed = bool(k) and all(fits(own - true, k * weights[name], true)
                              for name, (own, true) in pairs.items())  # fmt: skip
    found = {}
    for name, (own, true) in pairs.items():
        others = [times for times in factors.values() if fits(own, times * true, true)]
        if not own.any():
            found[name] = Relation("zero")
        elif name in factors or others:
            times = factors.get(name, others[0] if others else 0.0)
            found[name] = Relation(f"{times:.6g} times the right one", True)
        elif decayed:
            text = f"the right one plus {k:.3g} times the weights (weight decay?)"
            found[name] = Relation(text, True)
        else:
            found[name] = Relation(off_by(own, true))
    return found


def factor(value: np.ndarray, right: np.ndarray) -> float:
    """The number that makes the right tensor this one; 0 if there is none, or it is 1."""
    if np.count_nonzero(right) < FEW or not value.any():
        return 0.0
    times = float(np.sum(value * right) / np.sum(np.square(right)))
    return times if distance(value, times * right) < ALIKE < abs(times - 1) else 0.0


def decay(value: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    """The multiple of the weights by which a tensor differs from the right one; 0 if by another."""
    if np.count_nonzero(weights) < FEW:
        return 0.0
    added = float(np.sum((value - right) * weights) / np.sum(np.square(weights)))
    return added if distance(value - right, added * weights) < ALIKE else 0.0


def fits(value: np.ndarray, asked: np.ndarray, right: np.ndarray) -> bool:
    """Whether a tensor is the one that is asked for, within the rounding of the right one."""
    room = ALIKE * np.linalg.norm(asked) + TOLERANCE * np.linalg.norm(right)
    return bool(np.linalg.norm(value - asked) <= room)


def ratio(loss: float, right: float) -> str:
    """How a loss is related to the right one."""
    if not loss:
        return "zero"
    times = loss / right if right else 1.0
    far = np.isfinite(times) and abs(times - 1) > ALIKE
    return f"{times:.6g} times the right one" if far else off_by(loss, right)


def off_by(value: Any, right: Any) -> str:
    return f"off by {distance(value, right):.1e}"


def reduced_precision(seen: RecordedRun, right: RecordedRun) -> str:
    """The reduced precision that explains the first gradient's errors by their size, if any."""
    kinds = {w.dtype.name for w in seen.moments[0].weights.values()} - {"float64"}
    if kinds:
        return f" (weights() gives {listed(sorted(kinds))}: look for what is not float64)"
    pairs = [(seen.gradients.get(n, g), g) for n, g in right.gradients.items()]
    error = float(np.median([distance(*pair) for pair in pairs]))
    if not 0 < error < 1:
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


def by_tensor(found: dict[str, Relation], count: int) -> str:
    """What holds of each tensor, written once if it holds of all `count`."""
    texts = {one.text for one in found.values()}
    if len(found) == count > 1 and len(texts) == 1:
        return f"every tensor is {texts.pop()}"
    clearest = sorted(found.items(), key=lambda item: (item[1].text != "zero", not item[1][1]))
    return listed([f"{name} is {one.text}" for name, one in clearest])


def listed(parts: list[str], most: int = 4) -> str:
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more

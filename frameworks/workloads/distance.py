"""How far apart two results are."""

from typing import Any, NamedTuple

import numpy as np

from frameworks.workloads.weights import Weights

FLOAT32 = 2.0**-24  # half of the last place of a float32, relative
IDLE = 1e-3  # a tensor that moves less than this, of the network's typical move, says nothing
LEAST = 0.03  # of the network's typical move: a shorter move of a tensor counts as this long
# The same as IDLE if each tensor counts by itself: rounding of sums that cancel moves weights by up
# to 1e-6 of the network's typical move.
ALONE = 1e-4
HIDDEN = 0.5  # of a tensor's move: what storing may lose of it, so that float32 shows the move
OFF = 0.1  # of a tensor's typical move: a number that is off by more is counted
FEW = 16  # numbers of a tensor; one of them may be far off by rounding alone
REST = "the rest of the network"  # all tensors with few numbers, together
MIDDLE, UPPER = 0.5, 0.75  # shares of numbers that are less far off


def relative(value: Any, reference: Any, least: float = 0.0) -> float:
    """L2 distance over the reference's L2 norm, which counts as `least` if it is smaller; infinite
    if shapes differ or a value is not finite, so that NaN never agrees with anything."""
    if np.shape(value) != np.shape(reference):
        return float("inf")
    distance = float(np.linalg.norm(np.subtract(value, reference)))
    norm = max(float(np.linalg.norm(reference)), least)
    if not np.isfinite(distance):
        return float("inf")
    return 0.0 if distance == 0 else distance / norm if norm else float("inf")


class Astray(NamedTuple):
    """How far the numbers of a tensor are from where training should have moved them.

    `typical` is the median error, over the median move of the tensor. `off` is the share of numbers
    with an error of more than a tenth of that move.

    Rounding that changes the sign of a gradient near zero moves single numbers far, above all
    with Adam. It moves neither the median nor a large share.
    """

    typical: float
    off: float


def astray(
    own: Weights, exact: Weights, start: Weights, steps: int, rest: float = MIDDLE
) -> dict[str, Astray]:
    """For each tensor, how far float32 training has gone astray in `steps` steps from `start`.

    `rest`: the share of numbers of `REST` that are less far off than its typical one. If one of its
    tensors is nothing but rounding, the median is that of another one by chance. `UPPER` is not.
    """
    return {
        name: Astray(middle(found, rest if name == REST else MIDDLE), far_away(found))
        for name, found in errors(own, exact, start, steps).items()
    }


def far_away(found: np.ndarray) -> float:
    """The share of errors that are more than a tenth of a move."""
    return float(np.mean(found > OFF))


def errors(
    own: Weights, exact: Weights, start: Weights, steps: int, alone: bool = False
) -> Weights:
    """How far each number of each tensor is from where training should have led in `steps` steps
    from `start`, over the tensor's median move.

    `exact` are the same steps in float64. What storing a number in float32 can change in each
    step is no error. Tensors that hardly move are left out, because their moves are rounding.
    Tensors with few numbers are taken together. `alone`: a tensor that moves less than others is
    judged by its own move, if storing does not hide it.
    """
    moves = {name: np.abs(np.subtract(exact[name], start[name], dtype=float)) for name in exact}
    network = middle(np.concatenate([move[move > 0] for move in moves.values()]))
    found: Weights = {}
    for name, move in moves.items():
        error = np.abs(np.subtract(own[name], exact[name], dtype=float))
        if not np.isfinite(error).all():
            return {name: np.full(FEW, np.inf)}
        stored = lost(exact[name], start[name], steps)
        error = np.maximum(error - stored, 0)
        touched = (move > 0) | (error > 0)
        size = middle(move[touched])
        if alone and size > ALONE * network and middle(stored[touched]) <= HIDDEN * size:
            found[name] = error[touched] / size
        elif size > IDLE * network:
            found[name] = error[touched] / max(size, LEAST * network)
    few = [found.pop(name) for name in list(found) if found[name].size < FEW]
    found[REST] = np.concatenate([*few, np.empty(0)])
    return {name: own for name, own in found.items() if own.size >= FEW}


def lost(exact: np.ndarray, start: np.ndarray, steps: int) -> np.ndarray:
    """What storing each number in float32 after every step may change."""
    found: np.ndarray = steps * FLOAT32 * np.maximum(np.abs(start), np.abs(exact))
    return found


def hidden(exact: Weights, start: Weights, steps: int) -> list[str]:
    """The tensors of which float32 does not show whether they are trained: storing may hide their
    moves, or none of their numbers moves."""
    found = []
    for name, weights in exact.items():
        move = np.abs(np.subtract(weights, start[name], dtype=float))
        touched = move > 0
        stored = lost(weights, start[name], steps)
        if not touched.any() or middle(stored[touched]) > HIDDEN * middle(move[touched]):
            found.append(name)
    return found


def middle(values: np.ndarray, share: float = MIDDLE) -> float:
    if not values.size:
        return 0.0
    if share == MIDDLE:
        return float(np.median(values))
    # Nothing lies between two errors that are infinite.
    return float(np.quantile(values, share, method="higher"))

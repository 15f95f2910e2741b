"""The limits that certificates and timed turns keep to: a change of one of them certifies anew."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

# Relative, of losses, gradients and weights in float64, unless a study says otherwise.
TOLERANCE = 1e-12
# A declared deviation grows chaotically later, so only the first steps are bounded.
DECLARED_STEPS = 10
# float64 rounds so much more finely than float32.
FINER = 2.0**-29
LOST = 1e-7  # relative; a run that rounding in float64 may move further cannot be compared
# A run reproduces a mistake if it is this close to NumPy's at every step, relative: more than
# rounding makes of a right run.
REPRODUCES = 1e-9
# Limit of relative errors in float32, of losses in the first steps: wide, because rounding grows
# from step to step. workflows/certify/reduced.py has the limits of a reduced precision.
FLOAT32_LOSS = 1e-3
# Sums that cancel are less exact. So gradients of float32 may be `MIDDLE` times the tolerance off
# in the median tensor and, if it is within that, `WORST` times in any tensor. In float64 any tensor
# has as much room if the median tensor is within the tolerance itself.
MIDDLE, WORST = 3, 10
# Relative, of losses in float32 after a restart, because kernels may add in another order; or so
# many times what float32 is off from float64 by then, because a deep network magnifies that.
AGAIN, MAGNIFIED = 1e-4, 3
# Share of a step's work that is left after its fence; certificates refuse more. A sound fence
# measures as noise around 0.
UNFENCED = 0.2
# The same of a single operation. A large result that was just written is read more slowly than
# later, as if work had been left. Without a fence all of it is left.
LEFT = 0.5
# The most that a study can allow its float32 gradients. A workload that allows its own more than
# this has ReLUs that float32 decides differently. After ten steps nearly all numbers of ResNet-50
# are far off, typically by half of their move, in every framework. Weights of a few steps are all
# that can be judged: after two, residual networks are typically up to 6e-3 of a move off.
UNDECIDED = 1e-2
# After `EARLY` steps in float32 and after more: the typical error of weights, in moves of the
# tensor, and the share of numbers that are far off. The same for gradients that are `UNDECIDED`,
# with products in a reduced precision, and for both.
EARLY, ASTRAY = 2, ((1e-4, 0.1), (5e-4, 0.1))
UNDECIDED_ASTRAY = ((0.05, 1.0), (math.inf, 1.0))
REDUCED_ASTRAY, UNDECIDED_REDUCED_ASTRAY = (0.3, 0.75), (0.5, 1.0)
HALF = 0.5  # no typical error of a half is allowed because of what plain NumPy attains
REDUCED = 0.4  # the most that a gradient or a loss may be off in a reduced precision
VANISHED = 1e-2  # of a first loss: a loss below it counts as this, because rounding stays
TINY = 1e-30  # replaces a loss of zero, because relative differences need a divisor


def allowed_moves(step: int, rounding: float, reduced: bool) -> tuple[float, float]:
    """The typical error of weights after this step that a certificate allows, and the share far
    away. `rounding` is what it allows float32 gradients."""
    if rounding > UNDECIDED:
        early, late = UNDECIDED_ASTRAY
        return late if step > EARLY else UNDECIDED_REDUCED_ASTRAY if reduced else early
    return REDUCED_ASTRAY if reduced else ASTRAY[step > EARLY]


def roomier(typical: float, errors: Iterable[float], times: float) -> float:
    """A limit of tensors' typical errors: `times` as much if the median tensor is within it,
    because in a small network one sample whose ReLU float32 decides differently moves a whole
    kernel."""
    found = list(errors)
    return times * typical if found and np.median(found) <= typical else typical


def widened(limits: tuple[float, float], near: tuple[float, float]) -> tuple[float, float]:
    """The limits of weights, or ten times the typical error that plain NumPy attains. For numbers
    far away, the limit plus twice NumPy's share: in a small tensor one number is a large share."""
    return max(limits[0], min(WORST * near[0], HALF)), limits[1] + 2 * near[1]


def allowed_again(float32: Sequence[float], step: int) -> float:
    """How far the loss of a step after a restart may be from before, relative, with what the
    losses of all steps in float32 are off from float64's."""
    return max(AGAIN, min(MAGNIFIED * max(float32[:step], default=0.0), FLOAT32_LOSS))

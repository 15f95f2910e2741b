"""Judges a contender in float32, the precision that is timed: gradients, losses, weights, fence."""

from collections.abc import Collection

import numpy as np

from workflows.planning.entries import CertificateEntry
from workflows.records.schema import CertificateRow
from workflows.records.thresholds import (
    FLOAT32_LOSS,
    HALF,
    MIDDLE,
    REDUCED,
    UNFENCED,
    WORST,
    allowed_again,
    allowed_moves,
    roomier,
    widened,
)

UNCERTAIN = "this workload cannot be certified: NumPy's own "
TRY = "try a smaller learning rate or larger mini-batches"
KEPT = "; arrays given to put are overwritten afterwards: does it keep a reference to them?"


def wrong_as_timed(
    row: CertificateRow, limits: CertificateEntry, large: Collection[str] = ()
) -> str:
    """What is wrong under the conditions of the timed runs, "" if nothing is. `large`: tensors
    without the room that others have for a sample whose ReLU is undecided. They are compared in
    three stretches, and their median counts."""
    return (
        wrong_rounding(row, limits.rounding)
        or wrong_float32(row, limits.rounding)
        or wrong_moves(row, limits.rounding, large)
        or wrong_again(row)
        or wrong_fence(row)
    )


def wrong_float32(row: CertificateRow, rounding: float) -> str:
    """Losses are compared until ten times plain NumPy's own error is more than `HALF`."""
    first, later = row.room or (FLOAT32_LOSS, FLOAT32_LOSS)
    for step, error in enumerate(row.float32, 1):
        near = WORST * row.float32_attainable[step - 1] if row.float32_attainable else 0.0
        if not near <= HALF:
            return ""
        if not error <= max(first if step == 1 else later, rounding, near):
            return f"in float32 the loss of step {step} differs by {error:.1e} from float64's"
    return ""


def wrong_moves(row: CertificateRow, rounding: float, large: Collection[str] = ()) -> str:
    """Updates that are wrong in float32 only, which the first losses may not show."""
    for step, tensors in row.astray.items():
        least, share = allowed_moves(step, rounding, bool(row.reduced))
        more = roomier(least, (found[0] for found in tensors.values()), WORST)
        near = row.astray_attainable.get(step, {})
        for name, found in tensors.items():
            limits = (least if name in large else more, share)
            typical, off = widened(limits, near.get(name, (0.0, 0.0)))
            if not (found[0] <= typical and found[1] <= off):
                if (numpy := near.get(name, (0.0, 0.0))[0]) > HALF:
                    return (
                        f"{UNCERTAIN}weights in float32 are typically {numpy:.1e} of their move "
                        f"away from float64's after step {step} ({name}); {TRY}"
                    )
                return (
                    f"in float32 the weights go astray: after step {step} {name} is typically "
                    f"{found[0]:.1e} of its move away from float64's (allowed {typical:.0e}), and "
                    f"{found[1]:.0%} of its numbers are far away (allowed {min(off, 1):.0%})"
                )
    return ""


def wrong_again(row: CertificateRow) -> str:
    for step, error in enumerate(row.again, 1):
        if not error <= (allowed := allowed_again(row.float32, step)):
            return (
                f"in float32, after restart() the loss of step {step} differs by {error:.1e} from "
                f"before (allowed {allowed:.0e})"
            )
    return ""


def wrong_rounding(row: CertificateRow, tolerance: float) -> str:
    """Float32 gradients further off than float32 or the settings that were read explain.

    If the median tensor is within its limit, others have more room.
    """
    typical = float(np.median([*row.rounding.values()])) if row.rounding else 0.0
    middle, worst = row.room or (0.0, 0.0)
    middle, worst = max(middle, MIDDLE * tolerance), max(worst, WORST * tolerance)
    if row.room:  # in a reduced precision no room reaches a half
        middle, worst = min(middle, REDUCED), min(worst, REDUCED)
    allowed = worst if typical <= middle else middle
    off = farthest_tensor(beyond(row.rounding, row.attainable, WORST, REDUCED), allowed)
    named = f"even {row.reduced}" if row.reduced else "no setting names a reduced precision"
    return off and (
        f"first gradient in float32: {off} from float64 (allowed {allowed:.0e}), and {named}; "
        + likely_precision(typical, max(row.rounding.values()))
    )


def wrong_fence(row: CertificateRow, limit: float = UNFENCED) -> str:
    if row.unfenced is None or row.unfenced <= limit:
        return ""
    return f"synchronise() returned with {row.unfenced:.0%} of the step still to be done"


def likely_precision(error: float, worst: float) -> str:
    """What the error of the median tensor suggests, and the `worst` one. Sums that cancel can be
    ten times worse.

    The unit roundoff of bfloat16 is 2^-8, that of TF32 and float16 2^-11.
    """
    if not error <= 2**-5:
        return "so much is no matter of precision" + KEPT * (error == np.inf)
    if error <= 2**-16:
        if worst > HALF:
            return "most tensors are closer: this one is missing, clipped or another tensor's"
        return (
            "most tensors are closer: a sum that cancels in this one would look so, or one sample "
            "in which a ReLU or a max-pooling is undecided"
        )
    named = "bfloat16" if error > 2**-10 else "TF32 or float16"
    return f"products or gradients in {named} would look so"


def beyond(
    distances: dict[str, float], attainable: dict[str, float], times: float, most: float
) -> dict[str, float]:
    """The distances that exceed `times` what plain NumPy attains, or exceed `most`."""
    return {
        name: distance
        for name, distance in distances.items()
        if not distance <= min(times * attainable.get(name, 0.0), most)
    }


def farthest_tensor(distances: dict[str, float], tolerance: float) -> str:
    """A description of the tensor that is furthest off, if it is too far."""
    far = [name for name, distance in distances.items() if not distance <= tolerance]
    if not far:
        return ""
    worst = max(far, key=lambda name: distances[name])
    more = f" (and {len(far) - 1} more)" if len(far) > 1 else ""
    return f"{worst}{more} differs by {distances[worst]:.1e}"

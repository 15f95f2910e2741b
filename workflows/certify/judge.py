"""Judges a certificate: how far two results are apart, and which status follows."""

from collections.abc import Iterable, Sequence

import numpy as np

from frameworks.contract import Deviation
from frameworks.registry import framework
from frameworks.workloads import Weights, Workload, leaves
from frameworks.workloads.distance import relative
from workflows.certify.reduced import MOST
from workflows.certify.runs import Result
from workflows.planning.entries import CertificateEntry
from workflows.records.limits import REDUCED_ASTRAY, UNDECIDED, UNFENCED, VANISHED
from workflows.records.schema import CertificateRow, Contender, Measured, OptimiserRow

# A declared deviation grows chaotically later, so only the first steps are bounded.
DECLARED_STEPS = 10
# Limit of relative errors in float32, of losses in the first steps: wide, because rounding grows
# from step to step. reduced.py has the limits of a reduced precision.
FLOAT32_LOSS = 1e-3
# Sums that cancel are less exact. So gradients of float32 may be this many times the tolerance off
# in the tensor in the middle, and in any tensor if the one in the middle is within that. In float64
# any tensor has as much room, if the one in the middle is within the tolerance itself.
MIDDLE, WORST = 3, 10
# float64 rounds so much more finely than float32.
FINER = 2.0**-29
# After `EARLY` steps in float32 and after more: the typical error of weights, in moves of the
# tensor, and the share of numbers that are far off.
EARLY, ASTRAY = 2, ((1e-4, 0.1), (5e-4, 0.1))
UNDECIDED_ASTRAY = (0.5, 1.0)  # where gradients are `UNDECIDED`
AGAIN = 1e-4  # relative, of losses in float32 after a restart; kernels may add in another order
# A run reproduces a mistake if it is this close to NumPy's at every step, relative: more than
# rounding makes of a right run.
REPRODUCES = 1e-9
FROM, FROM_NUMPY = "from the reference's", "from NumPy's"
BESIDE = "not what is declared: beside the declared mistake, "
UNNAMED = (
    "a deviation that nothing can follow: the mistake of its Deviation is to name one that "
    "docs/extending.md lists and that this workload can have"
)
CANCELLED, NOTHING = 1e-2, 1e-12  # of the other gradients; a gradient's root mean square
KEPT = "; arrays given to put are overwritten afterwards: does it keep a reference to them?"


class Uncanonical(Exception):
    """Weights whose names or shapes differ from the workload's."""


def compare(result: Result, reference: Result) -> Measured:
    """How far two results are apart, relative to the reference: the loss of every step, and
    every tensor by its L2 distance."""
    for step, weights in result.weights.items():
        require_shapes(weights, reference.weights[step])
    return Measured(
        loss=[relative(a, b) for a, b in zip(result.losses, reference.losses, strict=True)],
        weights={
            step: distances(result.weights[step], right)
            for step, right in reference.weights.items()
        },
    )


def distances(weights: Weights, reference: Weights) -> dict[str, float]:
    """Relative L2 distance of every tensor."""
    require_shapes(weights, reference)
    return {name: relative(weights[name], right) for name, right in reference.items()}


def loss_distances(losses: Sequence[float], exact: Sequence[float]) -> list[float]:
    """Relative difference of every loss. A loss that has all but vanished counts as a hundredth of
    the first, because rounding does not vanish with it."""
    least = VANISHED * abs(exact[0]) if exact else 0.0
    found = []
    for loss, right in zip(losses, exact, strict=False):
        scale = max(abs(right), least)
        known = np.isfinite(loss) and scale > 0
        found.append(abs(loss - right) / scale if known else relative(loss, right))
    return found


def gradient_distances(gradients: Weights, reference: Weights) -> dict[str, float]:
    """Relative L2 distance of every gradient.

    A gradient that is far smaller than the network's others may be a sum that cancels, and so
    nothing but rounding. It counts as `CANCELLED` of theirs. If all are, they say nothing.
    """
    require_shapes(gradients, reference)
    typical = float(np.sqrt(np.mean(np.concatenate([w.ravel() for w in reference.values()]) ** 2)))
    if typical < NOTHING:
        return dict.fromkeys(reference, 0.0)
    found = {}
    for name, right in reference.items():
        error = float(np.linalg.norm(np.subtract(gradients[name], right)))
        least = CANCELLED * typical * right.size**0.5
        scale = max(float(np.linalg.norm(right)), least)
        found[name] = error / scale if np.isfinite(error) else float("inf")
    return found


def require_shapes(weights: Weights, wanted: Weights) -> None:
    """Raise Uncanonical if a tensor is missing, unknown or of another shape."""
    for name in sorted({*weights, *wanted}):
        if name not in weights:
            raise Uncanonical(f"weights() lacks {name}; it has {', '.join(sorted(weights))}")
        if name not in wanted:
            raise Uncanonical(f"weights() has {name}, which the workload has not")
        given, asked = np.shape(weights[name]), np.shape(wanted[name])
        if given != asked:
            raise Uncanonical(f"weights() gives {name} as {given}, canonical is {asked}")


def judge(row: CertificateRow, limits: CertificateEntry, deviations: list[Deviation]) -> None:
    """Set the row's status and reason from what was measured."""
    tolerance = limits.tolerance
    wrong = (
        wrong_start(row.long, tolerance)
        or wrong_start(row.full, tolerance, "at full size ")
        or wrong_gradients(row, tolerance)
    )
    own = wrong_run(row.long, tolerance) or wrong_run(row.full, tolerance, "at full size ")
    if own and deviations and not wrong:
        early = early_loss(row.long, row.full)
        bound = min(deviation.loss_within for deviation in deviations)
        wrong = wrong_run(row.substituted, tolerance, "with plain SGD ") or wrong_run(
            row.substituted_full, tolerance, "with plain SGD at full size "
        )
        if not early <= bound:
            wrong = wrong or (
                f"more than declared: loss off by {early:.1e} {FROM}, declared {bound:.1e}"
            )
        wrong = wrong or wrong_beside(row.followed, tolerance)
    elif own:
        wrong = wrong or own
    wrong = wrong or wrong_restart(row, tolerance) or wrong_as_timed(row, limits)
    row.status, row.reason = "refused" if wrong else "agrees", wrong
    if own and not wrong:
        row.status, row.reason = "declared", reasons(deviations)


def judge_float32(row: CertificateRow, limits: CertificateEntry) -> None:
    """The same for a framework without float64. It claims less, and its reason says so."""
    wrong = wrong_as_timed(row, limits)
    row.status = "refused" if wrong else "agrees"
    row.reason = wrong or (
        f"in float32 only, since it has no float64: first gradients to {limits.rounding:.0e}, "
        f"losses of {len(row.float32)} steps to {FLOAT32_LOSS:.0e}"
    )


def judge_optimiser(
    run: Measured, tolerance: float, deviations: list[Deviation], followed: Measured | None = None
) -> OptimiserRow:
    """The same for the long run with another optimiser alone."""
    wrong = wrong_run(run, tolerance)
    if not wrong:
        return OptimiserRow(status="agrees", run=run)
    bound = min((deviation.loss_within for deviation in deviations), default=0.0)
    if wrong_start(run, tolerance) or not early_loss(run) <= bound:
        return OptimiserRow(status="refused", reason=wrong, run=run)
    if beside := wrong_beside(followed, tolerance):
        return OptimiserRow(status="refused", reason=beside, run=run)
    return OptimiserRow(status="declared", reason=reasons(deviations), run=run)


def wrong_beside(followed: Measured | None, tolerance: float) -> str:
    """What a run does beside the mistake that is declared, which NumPy made in every step."""
    limit = max(tolerance, REPRODUCES)
    return wrong_run(followed, limit, BESIDE, FROM_NUMPY) if followed else UNNAMED


def declared(contender: Contender, optimiser: str) -> list[Deviation]:
    """The deviations that the contender's variant declares of this optimiser."""
    variant = framework(contender.framework).variants[contender.variant]
    return [d for d in variant.deviations if d.component == f"optimiser.{optimiser}"]


def declared_state(contender: Contender, workload: Workload) -> dict[str, Deviation]:
    """The tensors of state that deviate as the contender's variant declares, with how."""
    variant = framework(contender.framework).variants[contender.variant]
    return {
        f"{stage.name}.{short}": deviation
        for stage in leaves(workload.stages)
        for short in stage.layer.state_shapes(stage.input_shape)
        for deviation in variant.deviations
        if deviation.component == f"state.{stage.layer.kind}.{short}"
    }


def set_aside(measured: Measured, tensors: Iterable[str]) -> dict[str, float]:
    """Take these tensors out of what was measured after the first step: how far each is off at
    most."""
    most = dict.fromkeys(tensors, 0.0)
    for step, own in measured.weights.items():
        for name in most if step else ():
            most[name] = max(most[name], own.pop(name))
    return most


def judge_state(row: CertificateRow, tolerance: float, deviations: Iterable[Deviation]) -> None:
    """Add what is declared of state to a row that is not refused, or refuse it."""
    off = max(row.state.values(), default=0.0)
    if row.status in ("agrees", "declared") and off > tolerance:
        own = list(dict.fromkeys(deviations))
        bound = min(deviation.state_within for deviation in own)
        row.status = "declared" if off <= bound else "refused"
        row.reason = (
            "; ".join(filter(None, [row.reason, reasons(own)]))
            if off <= bound
            else f"more than declared: state off by {off:.1e} {FROM}, declared {bound:.1e}"
        )


def reasons(deviations: list[Deviation]) -> str:
    return "; ".join(f"{each.component}: {each.reason}" for each in deviations)


def early_loss(*runs: Measured | None) -> float:
    """The largest error of a loss in the first steps."""
    found = [max(run.loss[:DECLARED_STEPS]) for run in runs if run]
    return max(found, default=float("inf"))


# Each `wrong_` function says in one line what is wrong first, "" if all is within the limits.


def wrong_run(
    measured: Measured | None, tolerance: float, where: str = "", whose: str = FROM
) -> str:
    """The loss of a step comes before its update of the weights."""
    if measured is None:
        return ""
    if wrong := wrong_weights(measured, 0, tolerance, where, whose):
        return wrong
    for step, error in enumerate(measured.loss, 1):
        if not error < float("inf"):
            return (
                f"{where}loss is not finite at step {step}, or the reference's is not, or is 0"
                + KEPT * (step == 1)
            )
        near = measured.attainable
        if not error <= max(tolerance, WORST * FINER * min(near.loss[step - 1], 1) if near else 0):
            return (
                f"{where}loss differs by {error:.1e} {whose} at step {step} "
                f"(allowed {tolerance:.0e})"
            )
        if wrong := wrong_weights(measured, step, tolerance, where, whose):
            return wrong
    return ""


def wrong_start(measured: Measured | None, tolerance: float, where: str = "") -> str:
    """Before any optimiser has acted: initial weights and first loss."""
    if measured is None:
        return ""
    first = {step: own for step, own in measured.weights.items() if step == 0}
    beginning = measured.model_copy(update={"loss": measured.loss[:1], "weights": first})
    return wrong_run(beginning, tolerance, where)


def wrong_weights(measured: Measured, step: int, tolerance: float, where: str, whose: str) -> str:
    near = measured.attainable.weights.get(step, {}) if measured.attainable else {}
    own = beyond(measured.weights.get(step, {}), near, WORST * FINER)
    off = farthest_tensor(own, tolerance)
    when = f"after step {step}" if step else "before the first step"
    return off and f"{where}{off} {whose} {when} (allowed {tolerance:.0e})"


def wrong_gradients(row: CertificateRow, tolerance: float) -> str:
    """A sum that cancels has more room, if the tensor in the middle is within the tolerance."""
    gradients = row.gradients
    typical = float(np.median([*gradients.values()])) if gradients else 0.0
    allowed = tolerance * (WORST if typical <= tolerance else 1)
    off = farthest_tensor(beyond(gradients, row.attainable, WORST * FINER), allowed)
    return off and f"first gradient: {off} {FROM} (allowed {allowed:.0e})"


def wrong_restart(row: CertificateRow, tolerance: float) -> str:
    for step, error in enumerate(row.restarted, 1):
        if not error <= tolerance:
            return f"after restart() the loss of step {step} differs by {error:.1e} from before"
    return ""


def wrong_as_timed(row: CertificateRow, limits: CertificateEntry) -> str:
    """Under the conditions of the timed runs only."""
    return (
        wrong_rounding(row, limits.rounding)
        or wrong_float32(row, limits.rounding)
        or wrong_moves(row, limits.rounding)
        or wrong_again(row)
        or wrong_fence(row)
    )


def wrong_float32(row: CertificateRow, rounding: float) -> str:
    first, later = row.room or (FLOAT32_LOSS, FLOAT32_LOSS)
    for step, error in enumerate(row.float32, 1):
        if not error <= max(first if step == 1 else later, rounding):
            return f"in float32 the loss of step {step} differs by {error:.1e} from float64's"
    return ""


def wrong_moves(row: CertificateRow, rounding: float) -> str:
    """Updates that are wrong in float32 only, which the first losses may not show. A tensor has
    more room if the one in the middle is within the limit: in a small network one sample whose
    ReLU float32 decides differently moves a whole kernel."""
    for step, tensors in row.astray.items():
        typical, off = REDUCED_ASTRAY if row.reduced else ASTRAY[step > EARLY]
        if rounding > UNDECIDED:
            typical, off = UNDECIDED_ASTRAY if step <= EARLY else (np.inf, 1.0)
        if tensors and np.median([found[0] for found in tensors.values()]) <= typical:
            typical *= WORST
        for name, found in tensors.items():
            if not (found[0] <= typical and found[1] <= off):
                return (
                    f"in float32 the weights go astray: after step {step} {name} is typically "
                    f"{found[0]:.1e} of its move away from float64's (allowed {typical:.0e}), and "
                    f"{found[1]:.0%} of its numbers are far away (allowed {off:.0%})"
                )
    return ""


def wrong_again(row: CertificateRow) -> str:
    for step, error in enumerate(row.again, 1):
        if not error <= AGAIN:
            return (
                f"in float32, after restart() the loss of step {step} differs by {error:.1e} from "
                "before"
            )
    return ""


def wrong_rounding(row: CertificateRow, tolerance: float) -> str:
    """Float32 gradients further off than float32 or the settings that were read explain.

    If the tensor in the middle is within its limit, others have more room.
    """
    typical = float(np.median([*row.rounding.values()])) if row.rounding else 0.0
    middle, worst = row.room or (0.0, 0.0)
    middle, worst = max(middle, MIDDLE * tolerance), max(worst, WORST * tolerance)
    if row.room:  # in a reduced precision no room reaches a half
        middle, worst = min(middle, MOST), min(worst, MOST)
    allowed = worst if typical <= middle else middle
    off = farthest_tensor(beyond(row.rounding, row.attainable, WORST), allowed)
    named = f"even {row.reduced}" if row.reduced else "no setting names a reduced precision"
    return off and (
        f"first gradient in float32: {off} from float64 (allowed {allowed:.0e}), and {named}; "
        + likely_precision(typical)
    )


def wrong_fence(row: CertificateRow, limit: float = UNFENCED) -> str:
    if row.unfenced is None or row.unfenced <= limit:
        return ""
    return f"synchronise() returned with {row.unfenced:.0%} of the step still to be done"


def likely_precision(error: float) -> str:
    """What the error of a tensor in the middle suggests. Sums that cancel can be ten times worse.

    The unit roundoff of bfloat16 is 2^-8, that of TF32 and float16 2^-11.
    """
    if not error <= 2**-5:
        return "so much is no matter of precision"
    if error <= 2**-16:
        return (
            "most tensors are closer: a sum that cancels in this one would look so, or one sample "
            "in which a ReLU or a max-pooling is undecided"
        )
    return f"products in {'bfloat16' if error > 2**-10 else 'TF32 or float16'} would look so"


def beyond(
    distances: dict[str, float], attainable: dict[str, float], times: float
) -> dict[str, float]:
    """Those that are farther than so many times what plain NumPy attains in float32, which counts
    as 1 if it is more. No room reaches a half."""
    return {
        name: distance
        for name, distance in distances.items()
        if not distance <= min(times * min(attainable.get(name, 0.0), 1), MOST)
    }


def farthest_tensor(distances: dict[str, float], tolerance: float) -> str:
    """A description of the tensor that is furthest off, if it is too far."""
    far = [name for name, distance in distances.items() if not distance <= tolerance]
    if not far:
        return ""
    worst = max(far, key=lambda name: distances[name])
    more = f" (and {len(far) - 1} more)" if len(far) > 1 else ""
    return f"{worst}{more} differs by {distances[worst]:.1e}"

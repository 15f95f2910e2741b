"""Agreement: how far two traces are apart, and what that makes of a certificate."""

import numpy as np

from frameworks.contract import Deviation
from frameworks.registry import framework
from frameworks.workloads import Weights
from frameworks.workloads.distance import relative
from workflows.certify.tracing import Trace
from workflows.planning.configuration import CertificateEntry
from workflows.records.schema import CertificateRow, Contender, Measured, OptimiserRow

# Chaos takes over later, so a declared deviation is bounded over the first steps only.
DECLARED_STEPS = 10
# Relative errors of losses in the first steps, and of gradients at most, in float32 and where
# products are reduced: wide, since rounding grows from step to step.
FLOAT32_LOSS, REDUCED_LOSS, REDUCED_GRADIENT = 1e-3, 1e-1, 2**-6
UNFENCED = 0.2  # share of a step; what is measured of a sound fence is noise around 0


class Uncanonical(Exception):
    """Weights that are not those of the workload, by name or shape."""


def compare(trace: Trace, reference: Trace) -> Measured:
    """How far apart two traces are: the loss step by step and each tensor by its L2 distance,
    all relative to the reference."""
    for step, weights in trace.weights.items():
        require_shapes(weights, reference.weights[step])
    return Measured(
        loss=[relative(a, b) for a, b in zip(trace.losses, reference.losses, strict=True)],
        weights={
            step: apart(trace.weights[step], true) for step, true in reference.weights.items()
        },
    )


def apart(weights: Weights, reference: Weights) -> dict[str, float]:
    """Relative L2 distance by tensor."""
    require_shapes(weights, reference)
    return {name: relative(weights[name], true) for name, true in reference.items()}


def require_shapes(weights: Weights, wanted: Weights) -> None:
    """Raise Uncanonical where a tensor is missing, unknown or of another shape."""
    for name in sorted({*weights, *wanted}):
        if name not in weights:
            raise Uncanonical(f"weights() lacks {name}; it has {', '.join(sorted(weights))}")
        if name not in wanted:
            raise Uncanonical(f"weights() has {name}, which the workload has not")
        given, asked = np.shape(weights[name]), np.shape(wanted[name])
        if given != asked:
            raise Uncanonical(f"weights() gives {name} as {given}, canonical is {asked}")


def judge(row: CertificateRow, asked: CertificateEntry, deviations: list[Deviation]) -> None:
    """Set the row's status and reason from what was measured."""
    tolerance = asked.tolerance
    wrong = (
        start(row.long, tolerance)
        or start(row.full, tolerance, "at full size ")
        or different_gradients(row.gradients, tolerance)
    )
    own = disagreement(row.long, tolerance) or disagreement(row.full, tolerance, "at full size ")
    if own and deviations and not wrong:
        early = early_loss(row.long, row.full)
        bound = min(deviation.loss_within for deviation in deviations)
        wrong = disagreement(row.substituted, tolerance, "with plain SGD ") or disagreement(
            row.substituted_full, tolerance, "with plain SGD at full size "
        )
        if not early <= bound:
            wrong = wrong or f"more than declared: loss off by {early:.1e}, declared {bound:.1e}"
    elif own:
        wrong = wrong or own
    wrong = wrong or other_than_before(row, tolerance) or as_timed(row, asked)
    row.status, row.reason = "refused" if wrong else "agrees", wrong
    if own and not wrong:
        row.status, row.reason = "declared", told(deviations)


def judge_single(row: CertificateRow, asked: CertificateEntry) -> None:
    """Of a framework without float64: a weaker claim, which the row's reason says."""
    wrong = as_timed(row, asked)
    for step, error in enumerate(row.restarted, 1):
        if not wrong and not error <= FLOAT32_LOSS:
            wrong = f"after restart() the loss of step {step} differs by {error:.1e} from before"
    row.status = "refused" if wrong else "agrees"
    row.reason = wrong or (
        f"in float32 only, since it has no float64: first gradients to {asked.rounding:.0e}, "
        f"losses of {len(row.float32)} steps to {FLOAT32_LOSS:.0e}"
    )


def judge_other(run: Measured, tolerance: float, deviations: list[Deviation]) -> OptimiserRow:
    """The same for the long run with another optimiser, alone."""
    wrong = disagreement(run, tolerance)
    if not wrong:
        return OptimiserRow(status="agrees", run=run)
    bound = min((deviation.loss_within for deviation in deviations), default=0.0)
    if start(run, tolerance) or not early_loss(run) <= bound:
        return OptimiserRow(status="refused", reason=wrong, run=run)
    return OptimiserRow(status="declared", reason=told(deviations), run=run)


def told(deviations: list[Deviation]) -> str:
    return "; ".join(f"{each.component}: {each.reason}" for each in deviations)


def start(measured: Measured | None, tolerance: float, where: str = "") -> str:
    """What is wrong before any optimiser has acted: given weights and first loss."""
    if measured is None:
        return ""
    first = {step: own for step, own in measured.weights.items() if step == 0}
    return disagreement(Measured(loss=measured.loss[:1], weights=first), tolerance, where)


def early_loss(*runs: Measured | None) -> float:
    found = [max(run.loss[:DECLARED_STEPS]) for run in runs if run]
    return max(found, default=float("inf"))


def disagreement(measured: Measured | None, tolerance: float, where: str = "") -> str:
    """What is wrong first, in one line; "" if all is within the tolerance. The loss of a step
    comes before its update of the weights."""
    if measured is None:
        return ""
    if wrong := different_weights(measured, 0, tolerance, where):
        return wrong
    for step, error in enumerate(measured.loss, 1):
        if not error < float("inf"):
            return (
                f"{where}loss is not finite at step {step}, or the reference's is not, or is 0"
                + KEPT * (step == 1)
            )
        if not error <= tolerance:
            return f"{where}loss differs by {error:.1e} at step {step} (allowed {tolerance:.0e})"
        if wrong := different_weights(measured, step, tolerance, where):
            return wrong
    return ""


KEPT = "; arrays given to put are overwritten afterwards: does it keep a reference to them?"


def different_weights(measured: Measured, step: int, tolerance: float, where: str) -> str:
    off = beyond(measured.weights.get(step, {}), tolerance)
    when = f"after step {step}" if step else "before the first step"
    return off and f"{where}{off} {when} (allowed {tolerance:.0e})"


def different_gradients(gradients: dict[str, float], tolerance: float) -> str:
    off = beyond(gradients, tolerance)
    return off and f"first gradient: {off} (allowed {tolerance:.0e})"


def other_than_before(row: CertificateRow, tolerance: float) -> str:
    for step, error in enumerate(row.restarted, 1):
        if not error <= tolerance:
            return f"after restart() the loss of step {step} differs by {error:.1e} from before"
    return ""


def as_timed(row: CertificateRow, asked: CertificateEntry) -> str:
    """What is wrong under the conditions that are timed only."""
    return rounded(row, asked.rounding) or other_in_float32(row) or left_undone(row)


def other_in_float32(row: CertificateRow) -> str:
    allowed = REDUCED_LOSS if row.reduced else FLOAT32_LOSS
    for step, error in enumerate(row.float32, 1):
        if not error <= allowed:
            return f"in float32 the loss of step {step} differs by {error:.1e} from float64's"
    return ""


def rounded(row: CertificateRow, tolerance: float) -> str:
    """Float32 gradients further off than float32 explains, without a setting that does."""
    off = beyond(row.rounding, REDUCED_GRADIENT if row.reduced else tolerance)
    named = f"even {row.reduced}" if row.reduced else "no setting names a reduced precision"
    return off and (
        f"first gradient in float32: {off} from float64 (allowed {tolerance:.0e}), and {named}; "
        + likely(float(np.median([*row.rounding.values()])))
    )


def likely(error: float) -> str:
    """From a tensor in the middle, since sums that cancel can be ten times worse. Unit
    roundoffs: bfloat16 2^-9, TF32 and float16 2^-11."""
    if not error <= 2**-5:
        return "so much is no matter of precision"
    if error <= 2**-16:
        return (
            "most tensors are closer: a sum that cancels in this one would look so, or one sample "
            "in which a ReLU or a max-pooling is undecided"
        )
    return f"products in {'bfloat16' if error > 2**-10 else 'TF32 or float16'} would look so"


def left_undone(row: CertificateRow) -> str:
    if row.unfenced is None or row.unfenced <= UNFENCED:
        return ""
    return f"synchronise() returned with {row.unfenced:.0%} of the step still to be done"


def beyond(distances: dict[str, float], tolerance: float) -> str:
    """The tensor that is furthest off, in words, if it is too far."""
    far = [name for name, distance in distances.items() if not distance <= tolerance]
    if not far:
        return ""
    worst = max(far, key=lambda name: distances[name])
    more = f" (and {len(far) - 1} more)" if len(far) > 1 else ""
    return f"{worst}{more} differs by {distances[worst]:.1e}"


def declared(contender: Contender, optimiser: str) -> list[Deviation]:
    variant = framework(contender.framework).variants[contender.variant]
    return [d for d in variant.deviations if d.component == f"optimiser.{optimiser}"]

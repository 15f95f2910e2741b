"""Agreement: how far two traces are apart, and what that makes of a certificate."""

from typing import Any

import numpy as np

from frameworks.contract import Deviation
from frameworks.registry import framework
from frameworks.workloads import Weights
from workflows.records import CertificateRow, Contender, Measured

# Chaos takes over later, so a declared deviation is bounded over the first steps only.
DECLARED_STEPS = 10


class Uncanonical(Exception):
    """Weights that are not those of the workload, by name or shape."""


Trace = tuple[list[float], Weights]


def compare(trace: Trace, reference: Trace) -> Measured:
    """How far apart two traces are: the loss step by step and each final tensor by its
    L2 distance, all relative to the reference."""
    losses, weights = trace
    true_losses, true_weights = reference
    require_shapes(weights, true_weights)
    return Measured(
        loss=[relative(a, b) for a, b in zip(losses, true_losses, strict=True)],
        weights={name: relative(weights[name], true) for name, true in true_weights.items()},
    )


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


def relative(value: Any, reference: Any) -> float:
    """L2 distance over the reference's L2 norm; infinite where shapes differ or a value is
    not finite, so that NaN never agrees with anything."""
    if np.shape(value) != np.shape(reference):
        return float("inf")
    distance = float(np.linalg.norm(np.subtract(value, reference)))
    norm = float(np.linalg.norm(reference))
    if not np.isfinite(distance):
        return float("inf")
    return 0.0 if distance == 0 else distance / norm if norm else float("inf")


def judge(row: CertificateRow, tolerance: float, deviations: list[Deviation]) -> None:
    """Set the row's status and reason from what was measured."""
    worst = disagreement(row.long, tolerance) or disagreement(row.full, tolerance, "at full size ")
    if not worst:
        row.status = "agrees"
    elif not deviations:
        row.status, row.reason = "refused", worst
    else:
        row.status, row.reason = (
            "declared",
            "; ".join(f"{deviation.component}: {deviation.reason}" for deviation in deviations),
        )
        bound = min(deviation.loss_within for deviation in deviations)
        runs = [run.loss[:DECLARED_STEPS] for run in (row.long, row.full) if run]
        early = max((max(losses) for losses in runs), default=float("inf"))
        rest = disagreement(row.substituted, tolerance, "with plain SGD ") or disagreement(
            row.substituted_full, tolerance, "with plain SGD at full size "
        )
        if rest or early > bound:
            too_far = f"loss off by {early:.1e}, declared {bound:.1e}"
            row.status, row.reason = "refused", rest or f"more than declared: {too_far}"


def disagreement(measured: Measured | None, tolerance: float, where: str = "") -> str:
    """What is wrong, in one line; "" if all is within the tolerance."""
    if measured is None:
        return ""
    for step, error in enumerate(measured.loss, 1):
        if not error < float("inf"):
            return f"{where}loss is not a finite number at step {step}, or the reference's is not"
        if not error <= tolerance:
            return f"{where}loss differs by {error:.1e} at step {step} (allowed {tolerance:.0e})"
    name, error = max(measured.weights.items(), key=lambda item: item[1])
    if not error <= tolerance:
        return f"{where}{name} differs by {error:.1e} at the end (allowed {tolerance:.0e})"
    return ""


def declared(contender: Contender, optimiser: str) -> list[Deviation]:
    variant = framework(contender.framework).variants[contender.variant]
    return [d for d in variant.deviations if d.component == f"optimiser.{optimiser}"]

"""Judges a certificate: how far two results are apart, and which status follows."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from frameworks.contract import Deviation
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.registry import framework
from frameworks.workloads import Dataset, Weights, Workload, initial_weights, leaves
from frameworks.workloads.distance import relative
from frameworks.workloads.layers import Dense
from frameworks.workloads.optimisers import OPTIMISERS, SGD
from frameworks.workloads.residual import BatchNorm
from frameworks.workloads.smaller import batches
from workflows.certify.as_timed import KEPT, beyond, farthest_tensor, wrong_as_timed
from workflows.certify.runs import Result
from workflows.planning.entries import CertificateEntry
from workflows.records.schema import CertificateRow, Contender, Measured, OptimiserRow
from workflows.records.thresholds import (
    DECLARED_STEPS,
    FINER,
    FLOAT32_LOSS,
    LOST,
    REPRODUCES,
    VANISHED,
    WORST,
)

FROM, FROM_NUMPY = "from the reference's", "from NumPy's"
NONE: Weights = {}
BESIDE = "not what is declared: beside the declared mistake, "
MORE = "more than declared: {} off by"  # the loss or state
CANCELLED, NOTHING = 1e-2, 1e-12  # of the other gradients; a gradient's root mean square


class NotComparable(Exception):
    """A contender that cannot be compared, for example because its weights have other shapes."""


def compare(result: Result, reference: Result) -> Measured:
    """How far two results are apart, relative to the reference: the loss of every step, and
    every tensor by its L2 distance."""
    if len(result.losses) != len(reference.losses):
        raise NotComparable(f"{len(result.losses)} losses of {len(reference.losses)} steps")
    for step, weights in result.weights.items():
        require_shapes(weights, reference.weights[step])
    first = reference.weights.get(0, {})
    return Measured(
        loss=loss_distances(result.losses, reference.losses),
        weights={
            step: distances(result.weights[step], right, first)
            for step, right in reference.weights.items()
        },
    )


def distances(weights: Weights, reference: Weights, first: Weights = NONE) -> dict[str, float]:
    """Relative L2 distance of every tensor. A running mean's is relative to the size of the values
    that it is the mean of, which may cancel, and contain idle biases, which follow rounding. A
    tensor that has all but vanished counts as a hundredth of what it was at `first`, because
    rounding does not vanish with it."""
    require_shapes(weights, reference)
    found = {}
    for name, right in reference.items():
        own, true = (with_spread(name, w, reference) for w in (weights[name], right))
        least = VANISHED * float(np.linalg.norm(first[name])) if name in first else 0.0
        found[name] = relative(own, true, least)
    return found


def with_spread(name: str, values: np.ndarray, reference: Weights) -> np.ndarray:
    """Running means beside the reference's standard deviations; other tensors as they are."""
    layer, _, kind = name.rpartition(".")
    if kind != "mean" or (variance := reference.get(f"{layer}.variance")) is None:
        return values
    return np.append(values, np.sqrt(np.abs(variance)))


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
        least = CANCELLED * typical * right.size**0.5
        found[name] = relative(gradients[name], right, least)
    return found


def require_shapes(weights: Weights, wanted: Weights) -> None:
    """Raise NotComparable if a tensor is missing, unknown or of another shape."""
    for name in sorted({*weights, *wanted}):
        if name not in weights:
            raise NotComparable(f"weights() lacks {name}; it has {', '.join(sorted(weights))}")
        if name not in wanted:
            raise NotComparable(f"weights() has {name}, which the workload has not")
        given, asked = np.shape(weights[name]), np.shape(wanted[name])
        if given != asked:
            raise NotComparable(f"weights() gives {name} as {given}, canonical is {asked}")


def judge(
    row: CertificateRow,
    limits: CertificateEntry,
    deviations: list[Deviation],
    large: Collection[str] = (),
) -> None:
    """Set the row's status and reason from what was measured. `deviations` are those that the run
    follows, or all if it follows none; `large` as in `wrong_as_timed`."""
    tolerance = limits.tolerance
    wrong = (
        wrong_start(row.long, tolerance)
        or wrong_start(row.full, tolerance, "at full size ")
        or wrong_gradients(row, tolerance)
    )
    own = wrong_run(row.long, tolerance) or wrong_run(row.full, tolerance, "at full size ")
    if own and deviations and not wrong:
        early = early_loss(row.long, row.full)
        wrong = wrong_run(row.substituted, tolerance, "with plain SGD ") or wrong_run(
            row.substituted_full, tolerance, "with plain SGD at full size "
        )
        wrong = wrong or wrong_deviation(
            early, deviations, row.followed, tolerance, row.followed_full
        )
    elif own:
        wrong = wrong or own
    wrong = wrong or wrong_restart(row, tolerance) or wrong_as_timed(row, limits, large)
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
    if deviations and not wrong_start(run, tolerance):
        wrong = wrong_deviation(early_loss(run), deviations, followed, tolerance)
    if wrong:
        return OptimiserRow(status="refused", reason=wrong, run=run)
    return OptimiserRow(status="declared", reason=reasons(deviations), run=run)


def wrong_deviation(
    off: float,
    deviations: Sequence[Deviation],
    followed: Measured | None,
    tolerance: float,
    full: Measured | None = None,
) -> str:
    """What is wrong with a deviation of the optimiser, with which the loss is `off`."""
    more = more_than_declared("loss", off, max(one.loss_within for one in deviations))
    if not followed:
        return more or unnamed(deviations)
    return wrong_beside(followed, tolerance, full) or more


def more_than_declared(what: str, off: float, bound: float) -> str:
    return "" if off <= bound else f"{MORE.format(what)} {off:.1e} {FROM}, declared {bound:.1e}"


def wrong_beside(followed: Measured, tolerance: float, full: Measured | None = None) -> str:
    """What a run does beside the mistakes that are declared, which NumPy made in every step."""
    limit = max(tolerance, REPRODUCES)
    return wrong_run(followed, limit, BESIDE, FROM_NUMPY) or wrong_run(
        full, limit, f"{BESIDE}at full size ", FROM_NUMPY
    )


def unnamed(deviations: Iterable[Deviation]) -> str:
    """That deviations name no mistake that fits, and which do."""
    components = dict.fromkeys(deviation.component for deviation in deviations)
    return "a deviation that nothing can follow: name the mistake in its Deviation. " + "; ".join(
        f"{one} may be {', '.join(names(one)) or 'none'}" for one in components
    )


@cache
def names(component: str) -> list[str]:
    """The mistakes that a deviation of this component may be: they change a small network by its
    optimiser, or nothing of it but the tensor of state."""
    part, _, rest = component.partition(".")
    if part == "optimiser" and rest not in OPTIMISERS:
        return []
    optimiser = OPTIMISERS[rest] if part == "optimiser" else SGD
    network = Workload(
        name="named", dataset=Dataset("normal", 8, (3,), None), batch=8,
        layers=(Dense(4), BatchNorm(), Dense(2)), loss="mean_squared_error",
        optimiser=optimiser(),  # not its exact rate, which float32 does not change
    )  # fmt: skip
    right, found = few_steps(OracleTrainer, network), []
    state = rest.replace(".", "1.")
    with np.errstate(all="ignore"):
        for name, mistake in CATALOGUE.items():
            own = few_steps(mistake.trainer, network)
            changed = {n for n, w in own.items() if not np.array_equal(w, right[n])}
            fits = changed and of_optimisers(name) if part == "optimiser" else changed == {state}
            found += [name] * bool(fits)
    return sorted(found)


def of_optimisers(mistake: str) -> bool:
    """Whether it is about the update of weights, and not about their gradients or the loss."""
    how = CATALOGUE[mistake].how
    updates = getattr(how, "updates", OracleTrainer.updates)
    return (
        updates is not OracleTrainer.updates
        or how.__module__ == "frameworks.oracle.mistakes.optimisers"
    )


def few_steps(
    make: Callable[[Workload, Weights], OracleTrainer | None], network: Workload
) -> Weights:
    """The weights after three steps; none if the trainer does not fit the network."""
    try:
        if not (trainer := make(network, initial_weights(network, 1))):
            return {}
        for inputs, targets in batches(network, 1, 3):
            trainer.step(trainer.put(inputs, targets))
    except (ValueError, IndexError):
        return {}
    return trainer.weights()


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
    """Remove these tensors from what was measured after steps. Returns each one's largest error."""
    most = dict.fromkeys(tensors, 0.0)
    for step, own in measured.weights.items():
        for name in most if step else ():
            most[name] = max(most[name], own.pop(name))
    return most


def larger(some: dict[str, float], others: dict[str, float]) -> dict[str, float]:
    """The larger of two numbers for each name."""
    return some | {name: max(value, some.get(name, 0.0)) for name, value in others.items()}


def judge_state(row: CertificateRow, tolerance: float, state: Mapping[str, Deviation]) -> None:
    """Add what is declared of state to a row that is not refused, or refuse it."""
    off = max(row.state.values(), default=0.0)
    if row.status not in ("agrees", "declared") or off <= tolerance:
        return
    own, wrong = list(dict.fromkeys(state.values())), ""
    if not all(deviation.mistake for deviation in own):
        wrong = unnamed(own)
    elif row.followed:  # a part of a step is not
        wrong = wrong_beside(row.followed, tolerance, row.followed_full)
    for name in sorted(row.state, key=row.state.__getitem__, reverse=True):
        bound = state[name].state_within
        wrong = wrong or more_than_declared("state", row.state[name], bound)
    row.status = "refused" if wrong else "declared"
    row.reason = wrong or "; ".join(filter(None, [row.reason, reasons(own)]))


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
        room = min(WORST * FINER * near.loss[step - 1], LOST) if near else 0.0
        if not error <= max(tolerance, room):
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
    return wrong_run(measured.beginning(1), tolerance, where)


def wrong_weights(measured: Measured, step: int, tolerance: float, where: str, whose: str) -> str:
    near = measured.attainable.weights.get(step, {}) if measured.attainable else {}
    own = beyond(measured.weights.get(step, {}), near, WORST * FINER, LOST)
    off = farthest_tensor(own, tolerance)
    when = f"after step {step}" if step else "before the first step"
    return off and f"{where}{off} {whose} {when} (allowed {tolerance:.0e})"


def wrong_gradients(row: CertificateRow, tolerance: float) -> str:
    """A sum that cancels has more room, if the median tensor is within the tolerance."""
    gradients = row.gradients
    typical = float(np.median([*gradients.values()])) if gradients else 0.0
    allowed = tolerance * (WORST if typical <= tolerance else 1)
    near = beyond(gradients, row.attainable_first, WORST * FINER, WORST * FINER)
    off = farthest_tensor(near, allowed)
    return off and f"first gradient: {off} {FROM} (allowed {allowed:.0e})"


def wrong_restart(row: CertificateRow, tolerance: float) -> str:
    for step, error in enumerate(row.restarted, 1):
        if not error <= tolerance:
            return f"after restart() the loss of step {step} differs by {error:.1e} from before"
    return ""

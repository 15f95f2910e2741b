"""Finds certificates whose status contradicts their distances.

Each distance is compared with the loosest limit that any certificate can have for it, so that no
true certificate is refused.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from analysis.data.results import grouped
from frameworks.workloads import Workload
from frameworks.workloads.distance import REST
from frameworks.workloads.smaller import large
from frameworks.workloads.workload import LOOSEST
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import CertificateRecord, CertificateRow, Float64Turns, Measured
from workflows.records.thresholds import (
    AGAIN,
    DECLARED_STEPS,
    FINER,
    FLOAT32_LOSS,
    HALF,
    LEFT,
    LOST,
    REDUCED,
    REPRODUCES,
    UNDECIDED,
    UNFENCED,
    WORST,
    allowed_again,
    allowed_moves,
    widened,
)

PROVEN = ("agrees", "declared")  # statuses that let a ratio stand
INITIAL = 100  # more than any initial weight
TURN_STEPS = 1000  # of a turn that are recorded at most
SINGLE = "in float32 only"  # a certificate that claims less, worded as in judge_float32 (certify)
DIGITS = 1 + 1e-9  # records have ten digits of a distance
# What a certificate compares of whole steps. The later ones are compared since 24 November 2026.
REQUIRED = ("losses", "gradients", "rounding", "restarted", "float32", "unfenced")
REQUIRED_LATER = ("astray", "again")
Bound = tuple[str, Iterable[float], float]  # a key, its distances, and the most that they can be


def certificate_faults(
    certificate: CertificateRecord, own: Workload, everybody: set[str]
) -> Iterator[str]:
    """Faults of a certificate's limits, reference and turns. `everybody`: contenders, if known."""
    rounding = max(UNDECIDED, own.certificate.rounding or 0.0)
    for key, value, most in (
        ("tolerance", certificate.tolerance, LOOSEST),
        ("rounding", certificate.rounding, rounding),
        ("float32_loss", certificate.float32_loss, max(FLOAT32_LOSS, rounding)),
    ):
        if not value <= most:
            yield f"{key}: {value:.0e}; no certificate allows more than {most:g}"
    if not 1 <= certificate.declared_steps <= max(certificate.steps, DECLARED_STEPS):
        yield f"declared_steps: {certificate.declared_steps}, of {certificate.steps} steps"
    if certificate.parameters != own.parameters:
        yield f"parameters: {certificate.parameters}, {own.name} has {own.parameters}"
    if not certificate.narrowed and certificate.parameters_long != certificate.parameters:
        yield f"narrowed: it is not, with {certificate.parameters_long} parameters in the long run"
    if everybody and certificate.reference not in everybody:
        yield f"reference: {certificate.reference}, no contender"
    if not certificate.rows:
        yield "rows: there is none"
    turns = [*turns_of(certificate)]
    for name, found in turns:
        if lengths(found.start) != lengths(found.weights):
            yield f"turns.start and turns.weights of {name} are not of the same numbers"
        if found.read is not None and not 1 <= found.read < len(found.losses):
            rounds = len(found.losses) - 1
            yield f"turns.read of {name}: round {found.read}, and there are {rounds} rounds"
    if len({found.read for _, found in turns}) > 1:
        yield "turns.read differs between contenders"


def turns_of(certificate: CertificateRecord) -> Iterator[tuple[str, Float64Turns]]:
    """The turns in float64 of the reference, and of contenders that have some of their own."""
    if certificate.turns:
        yield certificate.reference, certificate.turns
    yield from ((row.name, row.turns) for row in certificate.rows if row.turns)


def turn_faults(certificate: CertificateRecord, schedule: Mapping[str, Any]) -> Iterator[str]:
    """Faults of the turns in float64: timed turns that they do not have would be compared with
    nothing."""
    warmup, turn, rounds = (int(schedule.get(key, 0)) for key in ("warmup", "turn", "rounds"))
    sizes = [min(steps, TURN_STEPS) for steps in (warmup, *[turn] * rounds)]
    proven = any(row.status in PROVEN for row in certificate.rows)
    for name, found in turns_of(certificate):
        if rounds and [*map(len, found.losses)] != sizes:
            yield f"turns.losses of {name} do not have the steps of each round"
        if proven and not all(map(diverges, found.losses)):
            yield f"turns.losses of {name}: only the end of a turn may have no numbers"
        if not all(abs(number) <= INITIAL for number in chain(*found.start.values())):
            yield f"turns.start of {name}: no initial weight is larger than {INITIAL}"


def fewer_steps(
    certificates: Iterable[CertificateRecord], without: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Check that all contenders on a workload were compared, as timed and after a restart, over as
    many steps, and that weights were after as many. Variants in `without` need not be, and what has
    no float64 is compared otherwise."""
    compared = grouped(
        (one.workload, row)
        for one in certificates
        for row in one.rows
        if row.precision == "float64" and (row.framework, row.variant) not in without
    )
    for workload, rows in compared.items():
        for key in ("float32", "restarted", "again", "astray"):
            most = max(len(getattr(row, key)) for row in rows)
            for row in rows:
                if 0 < (own := len(getattr(row, key))) < most:
                    steps = f"{own} steps were compared, and {most} of another"
                    yield f"{row.name} on {workload}: {key}: {steps}"


def diverges(losses: Sequence[float]) -> bool:
    """Whether all losses are numbers, or all until some step, which is not the first."""
    numbers = [*map(math.isfinite, losses)]
    return numbers == sorted(numbers, reverse=True) and all(numbers[:1])


def unread_weights(records: MachineRecords, without: Collection[tuple[str, str]]) -> Iterator[str]:
    """Check that weights were read after the turn of which certificates have them: in the first
    replicate, of somebody whose certificate read them, too. An adapter may fail to give them, so a
    single contender without them is no fault. Variants in `without` are no whole steps, and earlier
    records name no turn."""
    proven = {
        (one.workload, row.name)
        for one in records.certificates
        if one.turns and one.turns.read is not None and one.turns.weights
        for row in one.rows
        if row.status in PROVEN and (row.framework, row.variant) not in without
    }
    for contest in (one for one in records.contests if one.replicate == 1):
        own = [
            one
            for one in contest.contenders
            if one.status == "ok" and (contest.workload, one.name) in proven
        ]
        if len(own) > 1 and not any(one.weights for one in own):
            yield f"contests: {contest.workload}, replicate 1: nobody has weights after a turn"


def required_keys(certificates: Iterable[CertificateRecord]) -> Iterator[str]:
    """The keys that whole steps must have; the later keys only if some row has them."""
    yield from REQUIRED
    rows = [row for certificate in certificates for row in certificate.rows]
    yield from (key for key in REQUIRED_LATER if any(getattr(row, key) for row in rows))


def lengths(tensors: Mapping[str, Sequence[float]]) -> dict[str, int]:
    return {name: len(values) for name, values in tensors.items()}


def row_faults(
    row: CertificateRow,
    certificate: CertificateRecord,
    own: Workload,
    part: bool,
    whole: Collection[str],
) -> Iterator[str]:
    """Check that a row that agrees or declares has all its distances, finite and within limits. A
    `part` of a step and a single operation may have fewer steps. A contender without float64 has
    those of float32. `whole`: the keys that a whole step must have."""
    if row.framework != certificate.framework:
        yield f"framework: a row in the certificate of {certificate.framework}"
    for run in runs(row):
        if not all(0 <= step <= len(run.loss) for step in run.weights):
            yield f"weights after a step that is none of the {len(run.loss)} steps"
    known = {*own.parameter_shapes, *own.state_shapes, REST}
    if not own.elementwise and (strange := [name for name in tensors(row) if name not in known]):
        yield f"it compares {strange[0]!r}, which is no tensor of {own.name}"
    if row.status not in PROVEN:
        return
    if row.cause:
        yield f"cause: its status is {row.status!r}, and only a refusal has one"
    single = row.precision == "float32"
    if whole and not (single or own.elementwise):
        yield from incomplete(row, certificate, own)
    if single and not (SINGLE in row.reason or row.reduced):
        yield f"reason: it was certified in float32 only, and does not say so: {row.reason!r:.80}"
    if not (row.float32 if single else row.long and row.long.loss):
        yield f"long: its status is {row.status!r}, but no step was compared"
    for key in whole if row.precision == "float64" and not own.elementwise else ():
        if getattr(row, key) in (None, [], {}):
            yield f"{key}: its status is {row.status!r}, but it was not compared"
    if not own.elementwise and any(loss < 0 for loss in row.losses):
        yield f"losses: its status is {row.status!r}, but a loss is negative"
    if row.long:
        steps = len(row.losses) or len(row.long.loss)
        if steps != certificate.steps and not (part or own.elementwise):
            yield f"long: {steps} steps, but steps is {certificate.steps}"
        if row.compared and not row.long.attainable:
            yield f"long: only {row.compared} steps were compared, and rounding explains none"
    for key, distances, most in bounds(row, certificate, own):
        if far := [distance for distance in distances if not distance <= most * DIGITS]:
            yield (
                f"{key}: its status is {row.status!r}, but it is {max(far):.1e} off (allowed "
                f"{most:.0e})"
            )


def incomplete(row: CertificateRow, certificate: CertificateRecord, own: Workload) -> Iterator[str]:
    """Tensors and steps that a row has not compared, although its status says that it agrees or
    differs as declared."""
    every = own.parameter_shapes.keys()
    for key, run in (("long", row.long), ("full", row.full)):
        # If rounding hides the others, few steps are compared.
        if run and not (run.weights or (run.attainable and len(run.loss) < certificate.full_steps)):
            yield f"{key}.weights: none were compared"
        for step, found in run.weights.items() if run else ():
            if REST not in found and (absent := sorted(every - found.keys())):
                yield f"{key}.weights.{step}: {absent[0]} was not compared"
    for key in ("gradients", "rounding"):
        if found := getattr(row, key):
            yield from (f"{key}: {name} was not compared" for name in sorted(every - found.keys()))
    steps = len(row.full.loss) if row.full else 0
    fewer = bool(row.full and row.full.attainable and 0 < steps < certificate.full_steps)
    if steps != certificate.full_steps and not fewer:
        yield f"full: {steps} steps, but full_steps is {certificate.full_steps}"
    beside = row.followed or row.substituted or row.state or row.reduced
    if row.status == "declared" and not beside:
        yield "followed: it declares a deviation, and nothing was compared with that"


def runs(row: CertificateRow) -> list[Measured]:
    """The contender's runs beside the reference's."""
    others = [one.run for one in row.optimisers.values()]
    every = (row.long, row.full, row.substituted, row.substituted_full, *others)
    return [one for one in every if one]


def tensors(row: CertificateRow) -> Iterator[str]:
    """The names of all tensors that a row compares."""
    for run in (*runs(row), *filter(None, [row.followed, row.followed_full])):
        for step in run.weights.values():
            yield from step
    for found in (row.gradients, row.rounding, row.state):
        yield from found
    for moves in row.astray.values():
        yield from moves


def bounds(row: CertificateRow, certificate: CertificateRecord, own: Workload) -> Iterator[Bound]:
    operation = own.elementwise
    # Results of a single operation are counted in units in the last place of float32.
    yield from of_runs(row, max(certificate.tolerance, LOOSEST * bool(operation)))
    single = row.precision == "float32"
    yield from of_float32(row, certificate, () if single else large(own))
    yield "unfenced", [row.unfenced or 0.0], LEFT if operation else UNFENCED
    yield "ulp", [row.ulp or 0.0], operation.ulps if operation else 0


def of_runs(row: CertificateRow, tolerance: float) -> Iterator[Bound]:
    """The distances in float64. A declared deviation agrees in its first step, and it agrees in all
    steps if its deviating part is substituted or imitated."""
    agrees, differs = row.status == "agrees", False
    for key, own in (("long", row.long), ("full", row.full)):
        if own:
            yield run(key, own if agrees else own.beginning(1), tolerance)
            _, distances, most = run(key, own, tolerance)
            differs |= not all(distance <= most for distance in distances)
    if differs:
        for key, own in (
            ("substituted", row.substituted),
            ("substituted_full", row.substituted_full),
            ("followed", row.followed),
        ):
            if own:
                yield run(key, own, max(tolerance, REPRODUCES))
    for kind, other in row.optimisers.items():
        if other.status == "agrees" and other.run:
            yield run(f"optimisers.{kind}", other.run, tolerance)
    near = FINER * bool(row.attainable_first or row.attainable)  # earlier: one for both
    yield "gradients", row.gradients.values(), WORST * max(tolerance, near)
    yield "restarted", row.restarted, tolerance if row.precision == "float64" else AGAIN
    if agrees:
        yield "state", row.state.values(), tolerance


def run(key: str, own: Measured, tolerance: float) -> Bound:
    every = [*own.loss, *(one for tensors in own.weights.values() for one in tensors.values())]
    return key, every, max(tolerance, LOST) if own.attainable else tolerance


def of_float32(
    row: CertificateRow, certificate: CertificateRecord, large: Collection[str]
) -> Iterator[Bound]:
    """The distances in float32, as timed."""
    rounding, room, near = certificate.rounding, max(row.room or (0.0,)), row.float32_attainable
    yield "room", row.room or (), REDUCED * bool(row.reduced)
    most = max(WORST * rounding, room, REDUCED * bool(row.attainable))
    yield "rounding", row.rounding.values(), most
    # No loss is compared from the step on at which plain NumPy is too far off.
    steps = sum(WORST * one <= HALF for one in near) if near else None
    most = max(FLOAT32_LOSS, rounding, room, HALF * bool(near))
    yield "float32", row.float32[:steps], most
    for step, distance in enumerate(row.again, 1):
        yield "again", [distance], allowed_again(row.float32, step)
    for step, tensors in row.astray.items():
        typical, off = allowed_moves(step, rounding, bool(row.reduced))
        for name, found in tensors.items():
            beside = row.astray_attainable.get(step, {}).get(name, (0.0, 0.0))
            limits = widened((typical * (1 if name in large else WORST), off), beside)
            for distance, most in zip(found, limits, strict=True):
                yield f"astray.{step}.{name}", [distance], most

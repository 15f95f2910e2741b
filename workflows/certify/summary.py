"""One framework's certificates on one workload, in a few lines for the terminal."""

from collections.abc import Collection, Iterator, Sequence

from frameworks.registry import framework, is_pitfall
from workflows.certify.as_timed import wrong_fence
from workflows.planning import names
from workflows.records.schema import CertificateRow, steps_compared


def summary(rows: Sequence[CertificateRow], known: Collection[str] = ()) -> Iterator[str]:
    """A line for each outcome and one for all pitfalls. Reasons in `known` have been said before,
    so what is missing for one of them is not mentioned again."""
    said: dict[str, list[CertificateRow]] = {}
    for row in rows:
        if not is_pitfall(row) and not (row.status == "missing" and row.reason in known):
            said.setdefault(outcome(row), []).append(row)
    for text, group in said.items():
        if text == SAME:
            text += distance(group)
        yield text if len(said) == 1 else f"{who(group, said.values())}: {text}"
    pitfalls = [row for row in rows if is_pitfall(row) and row.status not in ("missing", "failed")]
    if pitfalls:
        waiting = [row for row in pitfalls if not wrong_fence(row)]
        differ = sum(row.status != "agrees" for row in waiting)
        text = f"{differ} of {names.counted(len(pitfalls), 'pitfall')} compute something else"
        early = len(pitfalls) - len(waiting)
        yield text + f", {early} time only a part of the work" * bool(early)
    for row in rows:
        if is_pitfall(row) and row.status == "failed":
            yield f"{row.variant} {outcome(row)}"


SAME = "same as the reference"


def outcome(row: CertificateRow) -> str:
    match row.status:
        case "agrees":
            return SAME
        case "declared":
            return f"same but for {names.listing(deviating(row))}, as declared"
        case "missing":
            return f"left out: {row.reason}"
        case status:
            return f"{status}: {row.reason}"


def distance(rows: Sequence[CertificateRow]) -> str:
    """` to 1.2e-14`: the largest distance from the reference of any loss or tensor, and in how many
    steps if rounding hides the others."""
    if any(row.precision != "float64" for row in rows):
        return " in float32 only"
    runs = [run for row in rows for run in (row.long, row.full) if run]
    losses = [max(run.loss) for run in runs if run.loss]
    tensors = [max(each.values()) for run in runs for each in run.weights.values() if each]
    farthest = max([*losses, *tensors], default=0.0)
    return (f" to {farthest:.1e}" if farthest else " to the last digit") + steps_compared(rows)


def deviating(row: CertificateRow) -> list[str]:
    variant = framework(row.framework).variants[row.variant]
    found = [d.component for d in variant.deviations if f"{d.component}: {d.reason}" in row.reason]
    return found + [f"precision.{variant.reduced}"] * bool(variant.reduced)


def who(own: Sequence[CertificateRow], groups: Collection[Sequence[CertificateRow]]) -> str:
    """The variants, with threads and devices if another group has one of them too."""
    variants = {row.variant for row in own}
    others = {row.variant for group in groups if group is not own for row in group}
    return names.several(own) if variants & others else names.listing(row.variant for row in own)

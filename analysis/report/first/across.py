"""Several machines in one report: whether they agree, and the largest difference."""

from collections.abc import Sequence

from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.certificates import declares
from analysis.findings.findings import Findings
from analysis.format import count, title
from analysis.report.prose import DECLARED, condition, contender, subject, two, workload

OPPOSITE = {"faster", "slower"}


def across(machines: Sequence[Findings]) -> str:
    """Opposite verdicts and the largest difference, without pooling; "" for one machine."""
    if len(machines) == 1:
        return ""
    here = f"On these {len(machines)} machines"
    tables = [
        {(row.id, row.base): row for row in found.comparisons if row.estimate.ratio}
        for found in machines
    ]
    shared = [[own[pair] for own in tables] for pair in tables[0] if all(pair in t for t in tables)]
    if not shared:
        return f"{here}, no comparison was made on every one."
    opposed = sum({row.estimate.verdict for row in rows} >= OPPOSITE for rows in shared)
    verb = "has" if 1 in (opposed, len(shared)) else "have"
    counted = f"{opposed or 'none'} of {count(len(shared), 'comparison')} {verb} opposite verdicts."
    return f"{here}, {counted} {furthest(machines, shared)}"


def furthest(machines: Sequence[Findings], shared: Sequence[Sequence[Comparison]]) -> str:
    """The comparison whose ratio depends most on the machine."""
    rows = max(shared, key=lambda rows: max(map(ratio, rows)) / min(map(ratio, rows)))
    named = sorted(zip(rows, machines, strict=True), key=lambda one: ratio(one[0]))
    (low, first), (high, last) = named[0], named[-1]
    one, base = low.id, low.base
    declared = any(declares(row.certificate) for row, _ in named)
    other = title(base.framework) if base.variant == one.variant else contender(base)
    return (
        f"The largest difference is on the {workload(one.workload)} with "
        f"{condition(one)}: {subject(one)} takes {two(ratio(low))} times as long as "
        f"{other}{f' {DECLARED}' * declared} on {first.machine.name} and {two(ratio(high))} times "
        f"on {last.machine.name}."
    )


def ratio(row: Comparison) -> float:
    return row.estimate.ratio or 1.0

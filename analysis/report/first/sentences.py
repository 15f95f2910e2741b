"""The findings: who is fastest in each variant, what tuning gains, and what a start costs."""

from collections.abc import Iterator

from analysis.data.pairing import DEFAULT
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.findings.matrix import column
from analysis.findings.start import StartLine
from analysis.format import count, listing, title
from analysis.report.first.comparing import fastest_and_others, milliseconds, races
from analysis.report.first.headline import size, tuned
from analysis.report.prose import spread, two, variant, workload

MANY = 10_000  # mini-batches; a start that pays off later decides no short run


def sentences(findings: Findings) -> list[str]:
    """Plain text: nothing in a name can make a mark of it."""
    if findings.machine.alone:
        return []
    return [text for text in (*compared(findings), tuning(findings), start(findings)) if text]


def compared(findings: Findings) -> Iterator[str]:
    """For each variant: who is fastest, and what the others take."""
    variants = dict.fromkeys(one.variant for one in findings.matched)
    for name in sorted(variants, key=lambda v: (v != DEFAULT, v)):
        own = fastest_and_others(races(findings, name))
        if own:
            words = variant(name)
            yield f"{words[:1].upper()}{words[1:]}: {' '.join(own)}"


def tuning(findings: Findings) -> str:
    """What tuning gains in milliseconds, where it gains most, for each framework."""
    ms = {row.id: row.median_ms or 0.0 for row in findings.contenders}
    gains = [row for row in findings.pairs if row.axis == "variant" and tuned(row)]
    if not gains:
        return ""
    most = max(gains, key=size)
    alike = [row for row in gains if row.id.workload == most.id.workload]
    at = column(most.id)
    held = [row for row in alike if column(row.id) == at]
    best: dict[str, PairLine] = {}
    for row in sorted(held, key=size, reverse=True):
        best.setdefault(row.id.framework, row)
    cuts = [
        f"{title(name)}'s{' step' * (place == 0)} from {milliseconds(ms[row.base])} to "
        f"{milliseconds(ms[row.id])} ms"
        for place, (name, row) in enumerate(best.items())
    ]
    where = f"on the {workload(at.workload)} with {count(at.threads, 'thread')}"
    return f"Tuning: {where} it cuts {listing(cuts)}." if cuts else ""


def start(findings: Findings) -> str:
    """The start that costs most, if it decides who wins a short run."""
    rows = findings.machine.matched_rows(findings.start)
    totals = {row.id.framework for row in rows if row.total_s is not None}
    late = [row for row in rows if row.ahead == "from" and 1 < (row.steps or 0) < MANY]
    if not late or len(totals) < 2:
        return ""
    slowest = max(sorted(totals), key=lambda name: seconds(rows, name))
    steps = [row.steps or 0.0 for row in late if row.id.framework == slowest]
    if not steps:
        return ""
    return (
        f"Start: {title(slowest)}'s takes longest, {two(seconds(rows, slowest))} s. Where its "
        f"steps are faster, {spread(min(steps), max(steps))} of them make up for that."
    )


def seconds(rows: list[StartLine], framework: str) -> float:
    """What a framework's start takes, on average over its contenders."""
    found = [row.total_s for row in rows if row.id.framework == framework and row.total_s]
    return sum(found) / len(found) if found else 0.0

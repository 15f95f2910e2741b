"""The findings: which framework is fastest in each variant, what tuning gains, what opt-in variants
gain or cost, and what a start costs."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.data.results import DEFAULT, USUAL
from analysis.findings.comparisons import Comparison, PairLine
from analysis.findings.findings import Findings
from analysis.findings.start import StartLine
from analysis.findings.sweeps import CROSSOVERS
from analysis.findings.variants.steps import StepLine
from analysis.format import listing, title
from analysis.report.first.comparing import fastest_and_others, milliseconds, races, takes
from analysis.report.first.headline import size, tuned
from analysis.report.prose import (
    DECLARED,
    condition,
    share,
    spread,
    subject,
    two,
    variant,
    workload,
)
from analysis.report.sections.comparing.comparisons import declared

MANY = 10_000  # mini-batches; a start that pays off later decides no short run
CUTS, OPTED = 3, 2  # frameworks and opt-in variants in one sentence


def sentences(findings: Findings) -> list[str]:
    """The findings as plain text, without rich text's marks."""
    if findings.machine.alone:
        return []
    found = (
        *compared(findings), sized(findings), tuning(findings), stepped(findings),
        opted(findings), start(findings),
    )  # fmt: skip
    return [text for text in found if text]


def compared(findings: Findings) -> Iterator[str]:
    """The fastest framework, and how much longer the others take, in the tutorials' variant and in
    tuned; in other variants only if a study has neither."""
    there = {one.variant for one in findings.matched}
    for name in [one for one in USUAL if one in there] or sorted(there)[: len(USUAL)]:
        own = fastest_and_others(races(findings, name))
        if own:
            words = variant(name)
            yield f"{words[:1].upper()}{words[1:]}: {' '.join(own)}"


def sized(findings: Findings) -> str:
    """The sizes from which more threads, or another device, pay, in the first sweep with any."""
    rows = [
        row for row in CROSSOVERS.of(findings)
        if row.axis in ("threads", "device") and row.id.variant in USUAL and row.pays
    ]  # fmt: skip
    own = {
        row.id.framework: row for row in reversed(rows)
        if (row.sweep, row.axis) == (rows[0].sweep, rows[0].axis)
    }  # fmt: skip
    if not own:
        return ""
    first = rows[0]
    where = "more threads" if first.axis == "threads" else "another device"
    parts = [
        f"{two(row.crossing.at)} ({spread(row.crossing.low, row.crossing.high)}) in "
        f"{title(row.id.framework)}"
        for row in sorted(own.values(), key=rows.index)[:CUTS]
        if row.crossing.at and row.crossing.low and row.crossing.high
    ]
    sweep = first.sweep
    return f"Sizes: on {sweep.name}, {where} pay from {sweep.parameter} {listing(parts)} on."


def tuning(findings: Findings) -> str:
    """What tuning gains each framework in milliseconds, in the column of the largest gain."""
    ms = {row.id: row.time.value or 0.0 for row in findings.contenders}
    gains = [row for row in findings.pairs if row.axis == "variant" and tuned(row)]
    if not gains:
        return ""
    at = max(gains, key=size).id.column
    held = sorted((row for row in gains if row.id.column == at), key=size, reverse=True)[:CUTS]
    cuts = [
        f"{title(row.id.framework)}'s{' step' * (place == 0)} from {milliseconds(ms[row.base])} to "
        f"{milliseconds(ms[row.id])} ms"
        for place, row in enumerate(held)
    ]
    where = f"on the {workload(at.workload)} with {condition(at)}"
    return f"Tuning: {where} it cuts {listing(cuts)}{mark(held)}."


def stepped(findings: Findings) -> str:
    """The change that gains most of what tuning gains, for each framework."""
    gains = [row for row in findings.steps if row.estimate.verdict == "faster"]
    largest: dict[str, StepLine] = {}
    for row in sorted(gains, key=lambda row: row.estimate.ratio or 1.0):
        largest.setdefault(row.id.framework, row)
    parts = [
        f"{title(name)}'s step on the {workload(row.id.workload)} by "
        f"{share(1 - (row.estimate.ratio or 1.0))} (\u201c{row.change}\u201d)"
        for name, row in list(largest.items())[:CUTS]
    ]
    marked = mark(largest.values())
    return f"Changes: the largest cut {listing(parts)}{marked}." if parts else ""


def opted(findings: Findings) -> str:
    """What opt-in variants gain or cost against their own framework's default, for those that
    differ most from it."""
    steps = {(row.id.framework, row.id.variant) for row in findings.steps}
    found: dict[tuple[str, str], list[PairLine]] = {}
    for row in findings.pairs:
        own = row.axis == "variant" and row.base.variant == DEFAULT and row.id.variant not in USUAL
        own = own and (row.id.framework, row.id.variant) not in steps
        if own and row.estimate.ratio is not None:
            found.setdefault((row.id.framework, row.id.variant), []).append(row)
    if not found:
        return ""
    most = sorted(found.values(), key=lambda rows: -max(map(size, rows)))
    parts = [f"{subject(rows[0].id)} {effect(rows)}" for rows in most[:OPTED]]
    rest = f" Variants has {len(most) - OPTED} more." * (len(most) > OPTED)
    marked = mark(row for rows in most[:OPTED] for row in rows)
    return f"Opt-in: against its own default, {listing(parts)}{marked}.{rest}"


def effect(rows: Sequence[PairLine]) -> str:
    """`takes 1.1 to 1.9 times as long`, or how many times as fast it is."""
    ratios = [row.estimate.ratio or 1.0 for row in rows]
    if all(row.estimate.verdict not in ("faster", "slower") for row in rows):
        return "shows no significant difference"
    if max(ratios) <= 1:
        return f"is {spread(1 / max(ratios), 1 / min(ratios))} times as fast"
    return takes(ratios)


def start(findings: Findings) -> str:
    """The start that costs most, if it decides who wins a short run; without opt-in variants."""
    rows = [row for row in findings.machine.matched_rows(findings.start) if row.id.variant in USUAL]
    totals = {row.id.framework for row in rows if row.total.value is not None}
    late = [row for row in rows if row.ahead == "from" and 1 < (row.steps.value or 0) < MANY]
    if not late or len(totals) < 2:
        return ""
    slowest = max(sorted(totals), key=lambda name: seconds(rows, name))
    own = [row for row in late if row.id.framework == slowest]
    if not own:
        return ""
    steps = [row.steps.value or 0.0 for row in own]
    sides = {row.id for row in own}
    marked = mark(row for row in findings.comparisons if row.id in sides)
    return (
        f"Start: {title(slowest)}'s takes longest, {two(seconds(rows, slowest))} s. Where its "
        f"steps are faster, it is ahead after {spread(min(steps), max(steps))} "
        f"mini-batches{marked}."
    )


def seconds(rows: list[StartLine], framework: str) -> float:
    """What a framework's start takes, on average over its contenders."""
    totals = (row.total.value for row in rows if row.id.framework == framework)
    found = [total for total in totals if total]
    return sum(found) / len(found) if found else 0.0


def mark(rows: Iterable[Comparison | PairLine | StepLine]) -> str:
    """† if any of these pairs is declared to differ."""
    return f" {DECLARED}" * any(map(declared, rows))

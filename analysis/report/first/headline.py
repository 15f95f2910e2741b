"""The headline: who is fastest everywhere, if anybody is; and where tuning matters more."""

from analysis.data.pairing import DEFAULT
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.findings.matrix import Column
from analysis.format import count, listing, title
from analysis.report.first.header import frameworks
from analysis.report.prose import DECLARED, two, workload
from analysis.report.sections.sameness.pitfalls import pitfall_summary

ALIKE = 1.15  # gains closer than this are about as large


def headline(findings: Findings) -> str:
    if findings.machine.alone:
        return controls(findings)
    if any(row.estimate.ratio for row in findings.pitfalls):
        return pitfall_summary(findings.pitfalls).partition(". ")[0].rstrip(".") + "."
    return " ".join(filter(None, (winner(findings), tuning(findings))))


def controls(findings: Findings) -> str:
    """An A/A study: every true ratio is known."""
    judged = [row for row in findings.controls if row.contains_truth is not None]
    right = sum(bool(row.contains_truth) for row in judged)
    return (
        f"Each contender against itself: {right} of {count(len(judged), 'interval')} "
        f"{'contains' if right == 1 else 'contain'} the truth."
    )


def firsts(findings: Findings) -> dict[Column, set[str]]:
    """The frameworks that are fastest in a column, or not significantly slower."""
    found: dict[Column, set[str]] = {}
    for line in findings.matrix:
        if line.first:
            found.setdefault(line.column, set()).add(line.id.framework)
    return found


def winner(findings: Findings) -> str:
    """Decided by intervals: one that is not significantly slower than the fastest counts, too."""
    columns = firsts(findings)
    measured = {line.id.framework for line in findings.matrix if line.base and line.ms is not None}
    if not columns:
        return "Nothing could be compared: What is missing says why."
    if len(measured) == 1:
        return f"Only {title(*measured)} was measured, so no framework is compared with another."
    everywhere = set.intersection(*columns.values())
    names = listing(title(one) for one in frameworks(findings) if one in everywhere)
    mark = DECLARED * any(
        line.declared for line in findings.matrix if line.first and line.id.framework in everywhere
    )
    place = "" if len(columns) == 1 else " everywhere"
    if len(everywhere) > 1:
        return f"{names}{mark} are fastest{place}, without a significant difference."
    if names:
        return f"{names}{mark} is fastest{place}."
    return "No framework is fastest everywhere."


def tuning(findings: Findings) -> str:
    """The workloads on which tuning a framework gains more than the choice of framework."""
    found = []
    for name in findings.machine.workloads:
        gain = max(filter(tuned, rows(findings, "variant", name)), key=size, default=None)
        between = max(rows(findings, "framework", name), key=size, default=None)
        if gain and between and size(gain) > ALIKE * size(between):
            found.append(
                f"On the {workload(name)} with {count(gain.id.threads, 'thread')}, tuning "
                f"{title(gain.id.framework)} gains more "
                f"({two(size(gain))} times) than any change of framework "
                f"({two(size(between))} times)."
            )
    return " ".join(found)


def rows(findings: Findings, axis: str, name: str) -> list[PairLine]:
    return [
        row
        for row in findings.pairs
        if row.axis == axis
        and row.id.workload == name
        and row.estimate.verdict in ("faster", "slower")
    ]


def tuned(row: PairLine) -> bool:
    """Whether a default became faster."""
    return row.base.variant == DEFAULT and row.estimate.verdict == "faster"


def size(row: PairLine) -> float:
    """The slower side's time over the faster side's."""
    ratio = row.estimate.ratio or 1.0
    return max(ratio, 1 / ratio)

"""The headline: which framework is fastest everywhere, if any, and where tuning matters more."""

from collections.abc import Collection

from analysis.data.results import DEFAULT, TUNED, Column, grouped
from analysis.findings.comparisons import PairLine
from analysis.findings.controls import judged
from analysis.findings.findings import Findings
from analysis.findings.matrix import MatrixLine
from analysis.findings.speed.use import too_fast
from analysis.format import count, listing, title
from analysis.report.first.header import frameworks
from analysis.report.prose import DECLARED, two, workload
from analysis.report.sections.comparing.comparisons import declared
from analysis.report.sections.sameness.pitfalls import pitfall_summary

ALIKE = 1.15  # gains closer than this are about as large
NOTHING = "Nothing could be compared: What is missing says why."


def headline(findings: Findings) -> str:
    if findings.machine.alone:
        return controls(findings)
    if any(row.estimate.ratio for row in findings.pitfalls):
        return pitfall_summary(findings.pitfalls).partition(". ")[0].rstrip(".") + "."
    return " ".join(filter(None, (winner(findings), doubt(findings), tuning(findings))))


def controls(findings: Findings) -> str:
    """An A/A study: every true ratio is known."""
    tried = judged(findings.controls)
    if not tried:
        return NOTHING
    right = sum(bool(row.contains_truth) for row in tried)
    return (
        f"Each contender against itself: {right} of {count(len(tried), 'interval')} "
        f"{'contains' if right == 1 else 'contain'} the truth."
    )


def contests(findings: Findings) -> dict[Column, list[MatrixLine]]:
    """The columns in which two frameworks or more can be compared, with the contenders that have a
    ratio or are the fastest."""
    found = grouped(
        (line.column, line)
        for line in findings.matrix
        if line.first or line.estimate.ratio is not None
    )
    return {
        column: own for column, own in found.items() if len({one.id.framework for one in own}) > 1
    }


def winner(findings: Findings) -> str:
    """The frameworks with a `first` contender in every column."""
    columns = contests(findings)
    measured = {line.id.framework for line in findings.matrix if line.ms is not None}
    if len(measured) == 1:
        return f"Only {title(*measured)} was measured, so no framework is compared with another."
    if not columns:
        return NOTHING
    firsts = [[line for line in own if line.first] for own in columns.values()]
    everywhere = set.intersection(*({line.id.framework for line in own} for own in firsts))
    if not everywhere:
        return "No framework is fastest everywhere."
    winning = [line for own in firsts for line in own if line.id.framework in everywhere]
    how = "Tuned, " * all(line.id.variant == TUNED for line in winning)
    names = listing(title(one) for one in frameworks(findings) if one in everywhere)
    mark = DECLARED * any(line.declared for line in winning)
    where = " where two frameworks have a ratio" * refused(findings, columns)
    place = where or " everywhere" * (len(columns) > 1)
    if len(everywhere) > 1:
        level = "equivalent or without a significant difference"
        return f"{how}{names}{mark} are fastest{place}, {level}."
    fastest = {line.id.framework for own in firsts for line in own if line.id == line.base}
    if fastest != everywhere:  # another one is ahead somewhere, but not significantly
        begin = f"{how}no" if how else "No"
        return (
            f"{begin} framework is significantly faster than {names}{mark}{where or ' anywhere'}."
        )
    return f"{how}{names}{mark} is fastest{place}."


def refused(findings: Findings, columns: Collection[Column]) -> bool:
    """Whether two frameworks have times in a column, but no ratio."""
    timed = grouped(
        (line.column, line.id.framework) for line in findings.matrix if line.ms is not None
    )
    return any(len({*own}) > 1 for column, own in timed.items() if column not in columns)


def doubt(findings: Findings) -> str:
    """A doubt if steps of a fastest framework are faster than the machine can compute them."""
    firsts = {line.id for own in contests(findings).values() for line in own if line.first}
    fast = listing(
        dict.fromkeys(title(one.framework) for one in too_fast(findings) if one in firsts)
    )
    return f"Steps of {fast} may leave out work: see the warning." * bool(fast)


def tuning(findings: Findings) -> str:
    """The workload on which tuning a framework gains most, if that is more than the choice of
    framework."""
    found = []
    for name in findings.machine.workloads:
        gain = max(filter(tuned, rows(findings, "variant", name)), key=size, default=None)
        between = max(rows(findings, "framework", name), key=size, default=None)
        if gain and between and size(gain) > ALIKE * size(between):
            found.append((gain, between))
    if not found:
        return ""
    gain, between = max(found, key=lambda pair: size(pair[0]))
    return (
        f"On the {workload(gain.id.workload)} with {count(gain.id.threads, 'thread')}, tuning "
        f"{title(gain.id.framework)} gains more ({times(gain)}) than any change of framework "
        f"({times(between)})."
    )


def rows(findings: Findings, axis: str, name: str) -> list[PairLine]:
    return [
        row
        for row in findings.pairs
        if row.axis == axis
        and row.id.workload == name
        and row.estimate.verdict in ("faster", "slower")
    ]


def tuned(row: PairLine) -> bool:
    """Whether tuning made a default faster."""
    sides = (row.base.variant, row.id.variant)
    return sides == (DEFAULT, TUNED) and row.estimate.verdict == "faster"


def size(row: PairLine) -> float:
    """The slower side's time over the faster side's."""
    ratio = row.estimate.ratio or 1.0
    return max(ratio, 1 / ratio)


def times(row: PairLine) -> str:
    """`3.7 times`, with † if the two sides are declared to differ."""
    return f"{two(size(row))} times" + f" {DECLARED}" * declared(row)

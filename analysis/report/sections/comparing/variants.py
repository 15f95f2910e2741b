"""Compares the variants of one framework: what tuning gains."""

from collections.abc import Sequence

from analysis.data.results import DEFAULT, grouped
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import count, percent, title
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import DECLARED, place, spread, variant
from analysis.report.sections.comparing.comparisons import declared, same
from analysis.report.tables import Table, column, intervals


def along(findings: Findings, axis: str) -> list[PairLine]:
    """The pairs that differ in `axis` only and have a ratio."""
    return [row for row in findings.pairs if row.axis == axis and row.estimate.ratio is not None]


def sentences(findings: Findings) -> list[str]:
    """For each framework and pair of its variants: pairs with the tutorials' variant first, then
    the largest gains first."""
    groups = grouped(
        ((row.id.framework, row.id.variant, row.base.variant), row)
        for row in along(findings, "variant")
    )
    ordered = sorted(
        groups.items(), key=lambda group: (group[0][2] != DEFAULT, min(map(ratio_of, group[1])))
    )
    return [describe(*key, rows) for key, rows in ordered]


def describe(framework: str, one: str, base: str, rows: Sequence[PairLine]) -> str:
    """`PyTorch, tuned, is 1.7 to 3.8 times as fast as in the tutorials.`"""
    who = f"{title(framework)}, {variant(one)},"
    other = variant(base).removeprefix("as ") + f" {DECLARED}" * any(map(declared, rows))
    low, high = min(map(ratio_of, rows)), max(map(ratio_of, rows))
    if high <= 1:
        return f"{who} is {spread(1 / high, 1 / low)} times as fast as {other}."
    return f"{who} takes {spread(low, high)} times as long as {other}."


def ratio_of(row: PairLine) -> float:
    return row.estimate.ratio or 1.0


def variant_table(findings: Findings) -> Table | None:
    rows = along(findings, "variant")
    if not rows:
        return None
    ms = {row.id: row.time.value for row in findings.contenders}
    times = column([ms[side] for row in rows for side in (row.id, row.base)])
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        "Variants against each other: milliseconds per mini-batch, and their ratio",
        [
            ("on", False), ("framework", False), ("variant", False), ("ms", True),
            ("compared with", False), ("its ms", True), ("ratio", True),
            (f"{percent(findings.machine.study.confidence)} interval", True), ("verdict", False),
            ("same?", False),
        ],
        [
            [
                place(row.id), title(row.id.framework), variant(row.id.variant), own,
                variant(row.base.variant), other, *ratio, row.estimate.verdict,
                same(row.certificate, row.estimate.verdict),
            ]
            for row, own, other, ratio in zip(rows, times[::2], times[1::2], cells, strict=True)
        ],
        "pairs.csv",
    )  # fmt: skip


def variants(chapter: Chapter) -> Blocks:
    found = sentences(chapter.findings)
    return [Paragraph(" ".join(found)), variant_table(chapter.findings)]


def inside(chapter: Chapter) -> str:
    first, *others = sentences(chapter.findings)
    return first + f" {count(len(others), 'more pair')} of variants." * bool(others)


SECTION = Section("Variants", variants, inside=inside)

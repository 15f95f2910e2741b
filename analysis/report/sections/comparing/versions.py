"""Versions of one framework compared with each other, if a study has several."""

import re
from collections import Counter
from dataclasses import replace

from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import count, listing, percent, sentence, title
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import place, variant
from analysis.report.sections.comparing.comparisons import same
from analysis.report.tables import Table, intervals
from frameworks.description import VERSIONED


def base(framework: str) -> str:
    found = VERSIONED.fullmatch(framework)
    return found["base"] if found else ""


def age(framework: str) -> list[int]:
    """Sort key: earlier versions first."""
    found = VERSIONED.fullmatch(framework)
    return [int(number) for number in re.findall(r"\d+", found["version"])] if found else []


def later(findings: Findings) -> list[PairLine]:
    """Pairs of versions of one framework, each compared with the earliest version of the study."""
    known = sorted({one.framework for one in findings.matched if base(one.framework)}, key=age)
    first = {base(name): name for name in reversed(known)}
    rows = []
    for row in findings.pairs:
        kind = base(row.id.framework)
        if row.axis != "framework" or not kind or kind != base(row.base.framework):
            continue
        if row.id.framework == first[kind]:
            row = replace(row, id=row.base, base=row.id, estimate=row.estimate.inverse)
        if row.base.framework == first[kind]:
            rows.append(row)
    return rows


def summary(rows: list[PairLine]) -> str:
    """`8 comparisons of a version with the earliest: 2 slower and 6 equivalent.`"""
    said = [f"{n} {verdict}" for verdict, n in Counter(r.estimate.verdict for r in rows).items()]
    same_work = sum(bool(row.certificate) for row in rows)
    return (
        f"{count(len(rows), 'comparison')} of a version with the earliest: {listing(said)}. "
        f"{same_work} of them {'is' if same_work == 1 else 'are'} certified to compute the same."
    )


def version_table(findings: Findings, rows: list[PairLine]) -> Table:
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        "A version's time over that of the earliest",
        [
            ("version", False), ("compared with", False), ("on", False), ("variant", False),
            ("ratio", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("verdict", False), ("same?", False),
        ],
        [
            [
                title(row.id.framework), title(row.base.framework), place(row.id),
                variant(row.id.variant), *ratio, row.estimate.verdict,
                same(row.certificate, row.estimate.verdict),
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "pairs.csv",
        [
            (f"{title(row.id.framework)}, {place(row.id)}", sentence(row.reason))
            for row in rows
            if row.estimate.ratio is None and row.reason
        ],
    )  # fmt: skip


def versions(chapter: Chapter) -> Blocks:
    rows = later(chapter.findings)
    if not rows:
        return []
    return [Paragraph(summary(rows)), version_table(chapter.findings, rows)]


SECTION = Section(
    "Versions beside each other",
    versions,
    about="Each version has an environment of its own, and all took turns in the same contests. "
    "Below 1 the later version is faster. Intervals are not corrected for how many there are.",
    in_markdown=True,
)

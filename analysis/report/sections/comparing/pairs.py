"""All pairs of contenders that ran under the same conditions, for a reader's own reference."""

from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import count, percent
from analysis.report.figures.comparing.ratios import all_ratios
from analysis.report.layout import Blocks, Chapter, Section
from analysis.report.prose import contender, place
from analysis.report.sections.comparing.comparisons import same
from analysis.report.tables import Table, intervals


def alike(findings: Findings) -> list[PairLine]:
    """The pairs of one workload, device and number of threads that have a ratio."""
    return [
        row
        for row in findings.pairs
        if row.estimate.ratio is not None
        and row.id._replace(framework=row.base.framework, variant=row.base.variant) == row.base
    ]


def pair_table(findings: Findings) -> Table | None:
    """A row is one contender's time over another's. The page's script lets a reader choose the
    reference, so the columns are the same in every study."""
    rows = alike(findings)
    if not rows:
        return None
    order = findings.machine.order
    rows.sort(key=lambda row: (order(row.base), order(row.id)))
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        f"All pairs: ratios of times per mini-batch, with {interval(findings)}s",
        [
            ("on", False), ("contender", False), ("compared with", False), ("ratio", True),
            ("interval", True), ("verdict", False), ("same?", False),
        ],
        [
            [
                place(row.id), contender(row.id), contender(row.base), *ratio,
                row.estimate.verdict, same(row.certificate, row.estimate.verdict),
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "pairs.csv",
        exact=[row.estimate.ends for row in rows],
    )  # fmt: skip


def interval(findings: Findings) -> str:
    return f"{percent(findings.machine.study.confidence)} confidence interval"


def pairs(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    shown = sum(row.estimate.ratio is not None for row in findings.comparisons)
    if len(alike(findings)) <= shown:
        return []
    return [chapter.figure(all_ratios, "pairs"), pair_table(findings)]


def inside(chapter: Chapter) -> str:
    rows = alike(chapter.findings)
    decided = sum(row.estimate.verdict in ("faster", "slower") for row in rows)
    return f"{count(len(rows), 'pair')}, {decided} of them with a clear winner."


SECTION = Section("All pairs", pairs, inside=inside)

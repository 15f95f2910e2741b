"""Compares workloads with each other, each pair in one contender."""

from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import count, percent
from analysis.report.layout import Blocks, Chapter, Section
from analysis.report.prose import contender, two, workload
from analysis.report.sections.comparing.pairs import alike
from analysis.report.tables import Table, intervals


def between(findings: Findings) -> list[PairLine]:
    """Pairs of workloads with a ratio. If some are named after another workload (`lstm-cntk`),
    only these pairs; otherwise all pairs, unless contenders are compared with each other."""
    rows = [
        row for row in findings.pairs
        if row.axis == "workload" and row.estimate.ratio is not None
    ]  # fmt: skip
    named = [row for row in rows if row.id.workload.startswith(f"{row.base.workload}-")]
    return named or ([] if alike(findings) else rows)


def workload_table(findings: Findings) -> Table:
    rows = between(findings)
    work = {own.name: own.flops_per_step for own in findings.machine.records.workloads}
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        "One workload's time over another's",
        [
            ("workload", False), ("compared with", False), ("contender", False),
            ("operations", True), ("ratio", True),
            (f"{percent(findings.machine.study.confidence)} interval", True), ("verdict", False),
        ],
        [
            [
                workload(row.id.workload), workload(row.base.workload),
                f"{contender(row.id)}, {count(row.id.threads, 'thread')}",
                two(work[row.id.workload] / (work[row.base.workload] or 1)),
                *ratio, row.estimate.verdict,
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "pairs.csv",
    )  # fmt: skip


def workloads(chapter: Chapter) -> Blocks:
    return [workload_table(chapter.findings)] if between(chapter.findings) else []


SECTION = Section(
    "Workloads beside each other",
    workloads,
    about="Ratios of different work, which says what a network costs and not who is faster. "
    "Operations: the floating-point operations of a mini-batch over the other's.",
    in_markdown=True,
)

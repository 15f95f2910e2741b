"""The raw times: each contender by itself, its mini-batches, and whether they were steady."""

from analysis.findings.findings import Findings
from analysis.format import count, percent
from analysis.report.figures.measuring.distributions import distributions
from analysis.report.figures.measuring.series import series
from analysis.report.layout import Blocks, Chapter, Paragraph, Rich, Section
from analysis.report.prose import contender, more, place, share
from analysis.report.tables import Table, column


def contender_table(findings: Findings) -> Table | None:
    rows = [
        row
        for row in findings.machine.matched_rows(findings.contenders)
        if row.time.value is not None
    ]
    if not rows:
        return None
    ends = column([end for r in rows for end in (*r.time, r.q25_ms, r.q75_ms)])
    cells = [ends[start : start + 5] for start in range(0, len(ends), 5)]
    first = column([row.first_batch_ms for row in rows])
    samples = column([row.samples_per_s for row in rows], 0)
    return Table(
        "Contenders: milliseconds per mini-batch",
        [
            ("on", False), ("contender", False), ("median", True),
            (f"{percent(findings.machine.study.confidence)} interval", True),
            ("middle half", True), ("very first", True), ("samples per s", True),
        ],
        [
            [
                place(row.id), contender(row.id), median, f"{low} to {high}" if low else "",
                f"{q25} to {q75}", start, speed,
            ]
            for row, (median, low, high, q25, q75), start, speed in zip(
                rows, cells, first, samples, strict=True
            )
        ],
        "contenders.csv",
    )  # fmt: skip


def steadiness(findings: Findings) -> str:
    """How far contenders drifted from the first to the last third of the rounds."""
    rows = findings.machine.matched_rows(findings.steady)
    drifts = [abs(row.drift.value) for row in rows if row.drift.value is not None]
    if not drifts:
        return "Steady state was not checked: that needs three contenders on the same cores."
    drifting = sum(not row.steady for row in rows)
    return (
        f"Of {count(len(drifts), 'contender')} checked for steady state, {drifting or 'none'} "
        f"drifted. From the first to the last third of the rounds, times changed by at most "
        f"{share(max(drifts))}."
    )


def times(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    table = contender_table(findings)
    if table is None:
        return []
    return [
        table,
        chapter.figure(distributions),
        chapter.figure(series),
        Paragraph(Rich(f"{steadiness(findings)} {more('steady-state')}")),
    ]


def inside(chapter: Chapter) -> str:
    batches = sum(row.batches for row in chapter.findings.contenders)
    return f"{batches:,} mini-batches. {steadiness(chapter.findings)}"


SECTION = Section("Raw times", times, inside=inside)

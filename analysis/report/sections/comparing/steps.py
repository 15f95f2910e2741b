"""What tuning is made of: each change from `default` to `tuned`, if the study has them all."""

from collections.abc import Sequence

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.variants.steps import StepLine
from analysis.format import listing, percent, sentence, title
from analysis.report.figures.comparing.steps import tuning_steps
from analysis.report.layout import Blocks, Bullets, Chapter, Section
from analysis.report.prose import place, two
from analysis.report.sections.comparing.comparisons import same
from analysis.report.tables import Table, column, intervals

NAMED = 3  # changes in a sentence


def chains(findings: Findings) -> list[list[StepLine]]:
    """The steps of each framework under the same conditions, in order."""
    return list(grouped((row.id._replace(variant=""), row) for row in findings.steps).values())


def summary(rows: Sequence[StepLine]) -> str:
    """`PyTorch, MLP, 1 thread: from 118 to 34 ms. “freed memory kept” takes off 48 % ...`"""
    one = rows[0].id
    start, end = rows[0].start_ms, rows[-1].level_ms
    opening = f"{title(one.framework)}, {place(one)}"
    if start is not None and end is not None:
        opening += f": from {two(start)} to {two(end)} ms"
    decided = [row for row in rows if row.estimate.verdict in ("faster", "slower")]
    largest = sorted(decided, key=lambda row: -abs(1 - (row.estimate.ratio or 1.0)))[:NAMED]
    if not largest:
        return f"{opening}. No change makes a significant difference."
    return f"{opening}. {sentence(listing([effect(row) for row in largest]))}"


def effect(row: StepLine) -> str:
    """`“freed memory kept” takes off 48 %`"""
    ratio = row.estimate.ratio or 1.0
    size = percent(float(f"{abs(1 - ratio):.2g}"))
    return f"\u201c{row.change}\u201d {'takes off' if ratio < 1 else 'adds'} {size}"


def step_table(findings: Findings) -> Table | None:
    rows = findings.steps
    if not rows:
        return None
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        "Steps from the tutorials' code to tuned: time over that before the step",
        [
            ("framework", False), ("on", False), ("change", False), ("ms after it", True),
            ("ratio", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("verdict", False), ("same?", False),
        ],
        [
            [
                title(row.id.framework), place(row.id), row.change, ms, *ratio,
                row.estimate.verdict, same(row.certificate, row.estimate.verdict),
            ]
            for row, ms, ratio in zip(
                rows, column([row.level_ms for row in rows]), cells, strict=True
            )
        ],
        "steps.csv",
        [
            (f"{title(row.id.framework)}, {place(row.id)}, {row.change}", sentence(row.reason))
            for row in rows
            if row.estimate.ratio is None and row.reason
        ],
    )  # fmt: skip


def steps(chapter: Chapter) -> Blocks:
    found = [summary(rows) for rows in chains(chapter.findings)]
    return [Bullets(found), chapter.figure(tuning_steps), step_table(chapter.findings)]


SECTION = Section(
    "What tuning is made of",
    steps,
    about="Each variant differs from the one before it in one change, and all ran in the same "
    "contests. The gain of a change depends on the changes before it.",
    in_markdown=True,
)

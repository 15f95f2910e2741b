"""Single operations: their times with the vectors in place, and how fast they move memory."""

from analysis.findings.speed.elementwise import ELEMENTWISE
from analysis.format import percent
from analysis.report.figures.measuring.elementwise import operation_times
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import contender, place
from analysis.report.tables import Table, column, intervals


def elementwise_table(chapter: Chapter) -> Table:
    rows = ELEMENTWISE.of(chapter.findings)
    times = column([end for row in rows for end in row.us])
    interval = f"{percent(chapter.findings.machine.study.confidence)} interval"
    firsts = intervals(row.first for row in rows)
    return Table(
        "One operation, without transfer",
        [
            ("on", False), ("contender", False), ("elements", True), ("µs", True),
            (interval, True), ("transfer, µs", True), ("GB/s", True), ("of the stream", True),
            ("ulp", True), ("first of five over the others", True), (interval, True),
        ],
        [
            [
                place(row.id),
                contender(row.id),
                f"{row.elements:,}",
                times[3 * number],
                " to ".join(filter(None, times[3 * number + 1 : 3 * number + 3])),
                transfer,
                speed,
                percent(round(row.share, 2)) if row.share else "",
                "" if row.ulp is None else f"{row.ulp:g}",
                *first,
            ]
            for number, (row, transfer, speed, first) in enumerate(
                zip(
                    rows,
                    column([row.transfer_us for row in rows]),
                    column([row.gb_per_s for row in rows]),
                    firsts,
                    strict=True,
                )
            )
        ],
        "elementwise.csv",
    )  # fmt: skip


def elementwise(chapter: Chapter) -> Blocks:
    if not ELEMENTWISE.of(chapter.findings):
        return []
    return [
        chapter.figure(operation_times),
        elementwise_table(chapter),
        Paragraph(ABOUT, style="soft"),
    ]


ABOUT = (
    "Times are of the step alone, divided by how often it does the operation, and so are ratios "
    "elsewhere in this report; transfer is beside them. GB/s counts once each vector that is read "
    "or written, as the machine's memory stream does. Small vectors stay in the caches, so that "
    "they may move faster than the stream. ulp: how far a number is from NumPy's at most, in units "
    "in the last place. The last columns are about processes that had done nothing before: their "
    "first operation over the median of the next four."
)
SECTION = Section("Single operations", elementwise, in_markdown=True)

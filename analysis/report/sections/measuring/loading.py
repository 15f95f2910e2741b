"""Which loader prepares mini-batches, and how long steps wait for it, if the study has loaders."""

from analysis.data.results import grouped
from analysis.findings.variants.loading import LoadingLine
from analysis.format import crossed, listing, percent, sentence, with_ends
from analysis.report.figures.measuring.loading import loading as figure
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import contender, milliseconds, place, two
from analysis.report.tables import Table, intervals


def waits(rows: list[LoadingLine]) -> str:
    """How long steps wait, by what prepares their mini-batches."""
    waited = grouped((row.by, row.waiting.value or 0.0) for row in rows if row.estimate.ratio)
    shown = (f"{two(min(own))} to {milliseconds(max(own))} ({by})" for by, own in waited.items())
    return f"A step waits {listing(shown)} for its mini-batch."


def loading_table(rows: list[LoadingLine], confidence: float) -> Table:
    shown = [row for row in rows if row.estimate.ratio]
    left_out = grouped((sentence(row.reason), row.id) for row in rows if not row.estimate.ratio)
    interval = f"{percent(confidence)} interval"
    return Table(
        "Milliseconds of a mini-batch by loader, and over the time without preparation",
        [
            ("framework", False), ("on", False), ("loader", False), ("all", True),
            ("waiting", True), ("transfer and step", True), ("over without", True),
            (interval, True),
        ],
        [
            [
                contender(row.original), place(row.id), row.words,
                with_ends(*row.wall),
                with_ends(*row.waiting),
                with_ends(*row.step),
                *ratio,
            ]
            for row, ratio in zip(shown, intervals(row.estimate.ends for row in shown), strict=True)
        ],
        "loading.csv",
        [(crossed(own), text) for text, own in left_out.items()],
    )  # fmt: skip


def loading(chapter: Chapter) -> Blocks:
    rows = chapter.findings.loading
    if not rows:
        return []
    return [
        Paragraph(waits(rows)),
        chapter.figure(figure),
        loading_table(rows, chapter.findings.machine.study.confidence),
    ]


SECTION = Section(
    "Preparing mini-batches",
    loading,
    about="One NumPy function crops, flips and normalises the pixels of every mini-batch: inline, "
    "when the step asks for it, or ahead of that in threads or processes, each of which works on "
    "one mini-batch. Each worker of a framework's own loader works on up to two ahead. Step and "
    "loader may use all cores. Without preparation the same process copies the stored "
    "mini-batches. After every turn the harness compares the SHA-256 of the mini-batches as "
    "delivered, in their order, with that of the stored ones. A loader with others has no time. "
    "The harness's own time between mini-batches is left out.",
    in_markdown=True,
)

"""How much faster reduced precisions are, and how exact, if the study has variants in one."""

from analysis.data.results import grouped
from analysis.findings.variants.reduced import ReducedLine
from analysis.format import percent, scientific, sentence, title
from analysis.report.figures.comparing.reduced import speed_and_distance
from analysis.report.figures.panels import than
from analysis.report.layout import Blocks, Bullets, Chapter, Section
from analysis.report.prose import place, places, share, two, variant
from analysis.report.tables import Table, intervals

DECIDED = ("faster", "slower")


def summary(row: ReducedLine) -> str:
    """`PyTorch in bfloat16, MLP, 1 thread: 1.5 times as fast as in float32. First ...`"""
    off = share(row.gradients or 0.0)
    return (
        f"{name(row)}, {place(row.id)}: {speed(row)}. First gradients are up to {off} from "
        "float64's."
    )


def name(row: ReducedLine) -> str:
    return f"{title(row.id.framework)} {variant(row.id.variant)}"


def speed(row: ReducedLine) -> str:
    ratio = row.estimate.ratio or 1.0
    if row.estimate.verdict not in DECIDED:
        return "no significant difference from float32 in time"
    if ratio < 1:
        return f"{two(1 / ratio)} times as fast as in float32"
    return f"a step {than(ratio)} in float32"


def reduced_table(rows: list[ReducedLine], confidence: float) -> Table | None:
    shown = [row for row in rows if row.estimate.ratio is not None]
    if not rows:
        return None
    cells = intervals(row.estimate.ends for row in shown)
    absent = grouped((row.reason, row.id) for row in rows if row.estimate.ratio is None)
    return Table(
        "Reduced precision: time over the same framework's float32, and largest relative distance "
        "from float64",
        [
            ("framework", False), ("on", False), ("ratio", True),
            (f"{percent(confidence)} interval", True), ("verdict", False),
            ("first gradients", True), ("losses", True), ("allowed", True),
            ("gradients in float32", True),
        ],
        [
            [
                name(row), place(row.id), *ratio, row.estimate.verdict,
                *("" if number is None else scientific(number)
                  for number in (row.gradients, row.losses, row.allowed, row.float32_gradients)),
            ]
            for row, ratio in zip(shown, cells, strict=True)
        ],
        "reduced.csv",
        [(places(own), sentence(reason)) for reason, own in absent.items()],
    )  # fmt: skip


def reduced(chapter: Chapter) -> Blocks:
    rows = chapter.findings.reduced
    confidence = chapter.findings.machine.study.confidence
    measured = [summary(row) for row in rows if row.estimate.ratio is not None]
    return [
        Bullets(measured),
        chapter.figure(speed_and_distance, "reduced"),
        reduced_table(rows, confidence),
    ]


SECTION = Section(
    "Reduced precision",
    reduced,
    about="These variants do not compute in the same precision as all others. So each is compared "
    "only with its own framework's float32, in the same contests, and stands in no other ratio. "
    "With the format switched off, it is certified in float64 like every variant. As timed, a "
    "probe has seen the format, and the distance from float64 is within a bound that follows from "
    "it.",
    in_markdown=True,
)

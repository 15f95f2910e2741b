"""When and where a study was measured, and how far its ratios have moved between studies."""

from collections.abc import Collection, Sequence

from analysis.data.occasions import day, occasion, span
from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.findings.speed.movement import MOVEMENT, Movement
from analysis.format import count, listing
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import DECLARED, pair, place, share
from analysis.report.sections.comparing.comparisons import marks
from analysis.report.tables import Table, intervals


def summary(rows: Sequence[Movement], findings: Findings) -> list[str]:
    """How far the ratios moved, and which changed their direction."""
    machine, marked = findings.machine, marks(findings)
    studies = len(machine.others) + 1
    starts = len({occasion(one) for one in (machine, *machine.others)})
    spreads = sorted(row.spread for row in rows)
    found = [
        f"In {studies} studies of this machine ({count(starts, 'occasion')}), ratios moved by "
        f"{share(spreads[len(spreads) // 2])} typically and {share(spreads[-1])} at most."
    ]
    turned = [row for row in rows if row.crossed]
    opposed = [row for row in rows if row.contradicted]
    if not turned:
        return [*found, "No ratio changed direction."]
    moved = f"{len(turned)} of {count(len(rows), 'ratio')} changed direction"
    verdicts = "none with opposite verdicts"
    if opposed:
        rows_named = listing(named(row, marked) for row in opposed)
        verdicts = f"{len(opposed)} with opposite verdicts ({rows_named})"
    return [*found, f"{moved}, {verdicts}."]


def named(row: Movement, marked: Collection[BenchmarkId]) -> str:
    """`JAX to PyTorch on the MLP, 1 thread`"""
    return f"{who(row, marked)} on the {place(row.id)}"


def who(row: Movement, marked: Collection[BenchmarkId]) -> str:
    return pair(row.id, row.base) + f" {DECLARED}" * (row.id in marked)


def movement_table(findings: Findings) -> Table | None:
    rows = MOVEMENT.of(findings)
    if not rows:
        return None
    own = {(row.id, row.base): row.estimate.ratio for row in findings.comparisons}
    marked = marks(findings)
    values = [
        [own.get((row.id, row.base)), row.lowest, row.highest,
         row.next_occasion_low, row.next_occasion_high]
        for row in rows
    ]  # fmt: skip
    cells = [
        [*intervals([line[:3]])[0], intervals([[line[0], *line[3:]]])[0][1]] for line in values
    ]
    return Table(
        "Each ratio in all studies of this machine",
        [
            ("on", False), ("who", False), ("this study", True), ("lowest to highest", True),
            ("predicted for another occasion", True), ("direction changed", False),
            ("verdict of all studies", False),
        ],
        [
            [place(row.id), who(row, marked), *line, turn(row), row.lasting]
            for row, line in zip(rows, cells, strict=True)
        ],
        "movement.csv",
    )  # fmt: skip


def turn(row: Movement) -> str:
    return "opposite verdicts" if row.contradicted else "yes" if row.crossed else "no"


def movement(chapter: Chapter) -> Blocks:
    findings, machine = chapter.findings, chapter.findings.machine
    rows = MOVEMENT.of(findings)
    if not rows:
        return []
    others = [
        f"{one.study.name} ({day(span(one)[0])}, {span(one)[0]:%H:%M} UTC)"
        for one in sorted(machine.others, key=span)
    ]
    return [
        Paragraph(" ".join(summary(rows, findings))),
        Paragraph(f"The other studies: {listing(others)}.", style="soft"),
        movement_table(findings),
    ]


def inside(chapter: Chapter) -> str:
    rows = MOVEMENT.of(chapter.findings)
    return summary(rows, chapter.findings)[0] if rows else ""


SECTION = Section(
    "Other times",
    movement,
    about="An occasion is one start of the machine. Studies of one occasion are not independent, "
    "so the prediction uses the means of occasions, and needs three of them.",
    inside=inside,
)

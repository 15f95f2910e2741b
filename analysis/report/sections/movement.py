"""When and where a study was measured, and how far its ratios have moved between studies."""

from collections.abc import Sequence

from analysis.data.occasions import boots, day, occasion, span, when
from analysis.data.results import Machine
from analysis.findings.comparisons import ToReference
from analysis.findings.findings import Findings
from analysis.findings.machine import virtual
from analysis.findings.series.movement import MOVEMENT, Movement
from analysis.format import count, crossed, listing, percent, three, title
from analysis.report.layout import Chapter, Paragraph, Parts, Section
from analysis.report.tables import Table, estimate
from frameworks.device import DEVICES


def when_and_where(findings: Findings) -> str:
    """The sentences of the first screen about the hour and the machine."""
    machine = findings.machine
    if not machine.records.contests:
        return "never."
    place = virtual(machine)
    kind = "virtual machine" if "virtual machine" in place else "machine"
    starts = len(boots(machine))
    sentences = [
        f"{when(machine)}, on this {kind}{f', in {starts} starts of it' if starts > 1 else ''}."
    ]
    rows = MOVEMENT.of(findings)
    if rows:
        sentences += summary(rows, machine)
    else:
        sentences.append(
            "The intervals are about that time and machine. At another time a ratio can move "
            "further than its interval reaches; only studies at other times show how far."
        )
    return " ".join(sentences)


def summary(rows: Sequence[Movement], machine: Machine) -> list[str]:
    """How far the ratios moved, and which changed their direction."""
    studies = len(machine.others) + 1
    starts = len({occasion(one) for one in (machine, *machine.others)})
    spreads = sorted(row.spread for row in rows)
    found = [
        f"In {studies} studies of this machine ({count(starts, 'occasion')}) ratios moved by "
        f"{percent(spreads[len(spreads) // 2])} typically and {percent(spreads[-1])} at most, "
        "largest over smallest."
    ]
    turned = [row for row in rows if row.crossed]
    opposed = [row for row in rows if row.contradicted]
    if not turned:
        return [*found, "No ratio changed its direction."]
    moved = f"{count(len(turned), 'ratio')} of {len(rows)} changed direction"
    verdicts = "none with opposite verdicts"
    if opposed:
        verdicts = f"{len(opposed)} with opposite verdicts ({listing(map(named, opposed))})"
    return [*found, f"{moved}, {verdicts}."]


def named(row: ToReference) -> str:
    """`mlp, 1 thread, default, JAX`, and what it is compared with if the variants differ."""
    one = row.id
    other = f" to {row.against}" * (row.reference_variant != one.variant)
    device = [one.device] * (not DEVICES[one.device].is_host)
    where = crossed([(one.workload, *device, one.threads, one.variant)])
    return f"{where}, {title(one.framework)}{other}"


def movement_table(findings: Findings) -> Table | None:
    rows = MOVEMENT.of(findings)
    if not rows:
        return None
    own = {(row.id, row.base): row.estimate for row in findings.comparisons}
    return Table(
        "Each ratio in all studies of this machine",
        [
            ("workload", False), ("on", False), ("variant", False), ("ratio of", False),
            ("this study", True), ("studies", True), ("lowest to highest", True),
            ("mean of studies", True), ("interval", True), ("next occasion", True),
            ("direction changed", False), ("series", False),
        ],
        [
            [
                row.id.workload, row.id.on, row.id.variant,
                f"{title(row.id.framework)} to {row.against}",
                three(own[row.id, row.base].ratio) if (row.id, row.base) in own else "",
                str(row.studies), ends(row.lowest, row.highest),
                *estimate(row.ratio, row.ratio_low, row.ratio_high),
                ends(row.next_occasion_low, row.next_occasion_high),
                turn(row), row.lasting,
            ]
            for row in rows
        ],
        [],
        "movement.csv",
    )  # fmt: skip


def ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{three(low)} to {three(high)}"


def turn(row: Movement) -> str:
    return "opposite verdicts" if row.contradicted else "yes" if row.crossed else "no"


def movement(chapter: Chapter) -> Parts:
    findings, machine = chapter.findings, chapter.findings.machine
    table = movement_table(findings)
    if table is None:
        return []
    others = [
        f"{one.study.name} ({day(span(one)[0])}, {span(one)[0]:%H:%M} UTC)"
        for one in sorted(machine.others, key=span)
    ]
    return [
        Paragraph(" ".join(summary(MOVEMENT.of(findings), machine))),
        Paragraph(
            f"The others are {listing(others)}. An occasion is one start of the machine. The "
            "interval of the mean takes studies as its unit. The next occasion is predicted from "
            "the means of occasions, because studies of one occasion are not independent; a "
            "series has a lasting verdict from three occasions on."
        ),
        table,
    ]


SECTION = Section("Other times", movement)

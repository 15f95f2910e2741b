"""How steps use the machine: share of its limit, memory, page faults, off the clock, energy."""

from collections.abc import Sequence

from analysis.findings.findings import Findings
from analysis.findings.speed.energy import ENERGY
from analysis.findings.speed.off_clock import OFF_CLOCK, OffClockLine
from analysis.findings.speed.use import USE, UseLine
from analysis.format import count, percent
from analysis.report.figures.measuring.roofline import roofline
from analysis.report.layout import Blocks, Chapter, File, Paragraph, Rich, Section
from analysis.report.prose import contender, more, place, share, subject, workload
from analysis.report.tables import Table, column, intervals


def compared(findings: Findings) -> list[UseLine]:
    return findings.machine.matched_rows(USE.of(findings))


def use_table(rows: Sequence[UseLine], off_clock: Sequence[OffClockLine] = ()) -> Table:
    """The table of use.csv, without columns that the records do not have."""
    known = {row.id: share(row.share) for row in off_clock if row.share is not None}
    columns = {
        "limit, ms": column([row.limit.ms or None for row in rows]),
        "binds": [row.limit.binds for row in rows],
        "share": [percent(round(row.limit.share, 2)) if row.limit.share else "" for row in rows],
        "peak MiB": column([row.peak_mib for row in rows], 0),
        "beyond the framework": column([row.own_mib for row in rows], 0),
        "page faults": column([row.faults for row in rows], 0),
        "off the clock": [known.get(row.id, "") for row in rows],
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    return Table(
        "What steps take of the machine, per mini-batch",
        [("on", False), ("contender", False), *((name, name != "binds") for name in kept)],
        [
            [place(row.id), contender(row.id), *cells]
            for row, *cells in zip(rows, *kept.values(), strict=True)
        ],
        "use.csv",
    )


def energy_table(findings: Findings) -> Table | None:
    rows = findings.machine.matched_rows(ENERGY.of(findings))
    if not rows:
        return None
    interval = f"{percent(findings.machine.study.confidence)} interval"
    joules = intervals(row.joules for row in rows)
    ratios = intervals(row.estimate.ends for row in rows)
    return Table(
        "Joules per mini-batch",
        [
            ("on", False), ("contender", False), ("of the", False), ("joules", True),
            (interval, True), ("ratio", True), (interval, True),
        ],
        [
            [place(row.id), contender(row.id), row.of, *own, *ratio]
            for row, own, ratio in zip(rows, joules, ratios, strict=True)
        ],
        "energy.csv",
    )  # fmt: skip


def nearest(rows: Sequence[UseLine]) -> list[str]:
    """The contender of each workload that is nearest to the machine's limit."""
    found: dict[str, UseLine] = {}
    for row in sorted(rows, key=lambda row: -(row.limit.share or 0.0)):
        if row.limit.share:
            found.setdefault(row.id.workload, row)
    return [
        f"On the {workload(name)}, {subject(row.id)} comes nearest to the machine's limit: "
        f"{share(row.limit.share or 0.0)} with {count(row.id.threads, 'thread')}, where "
        f"{row.limit.binds} binds."
        for name, row in found.items()
    ]


def use(chapter: Chapter) -> Blocks:
    rows = compared(chapter.findings)
    if not rows:
        return []
    energy, off_clock = energy_table(chapter.findings), OFF_CLOCK.of(chapter.findings)
    return [
        use_table(rows, off_clock),
        File("off_clock.csv") if off_clock else None,
        chapter.figure(roofline),
        Paragraph(Rich(f"{ABOUT} {more('memory-and-the-machines-limit')}"), style="soft"),
        Paragraph(Rich(f"{OFF_CLOCK_ABOUT} {more('same-computation')}"), style="soft")
        if off_clock
        else None,
        energy,
        Paragraph(Rich(f"{ENERGY_ABOUT} {more('energy')}"), style="soft") if energy else None,
    ]


def inside(chapter: Chapter) -> str:
    return " ".join(nearest(compared(chapter.findings))) or "Memory and page faults."


ABOUT = (
    "The limit is the longer of two times: the step's arithmetic at the speed of this machine's "
    "matrix product, and its least memory traffic at the speed of its memory stream. A share above "
    "100 % means that the step used the machine better than these two do. A process holds all "
    "workloads of its contest, so its peak is about all of them."
)
OFF_CLOCK_ABOUT = (
    "Off the clock is the processor time of its process while nothing is timed, as a share of that "
    "in the timed steps. off_clock.csv also has the time between two steps."
)
ENERGY_ABOUT = (
    "A turn's energy is that of the whole processor, or of all GPUs: all contenders are alive, but "
    "only one computes in a turn. It also has what the machine takes when idle, and the restart of "
    "the network. Ratios are to what times are compared with, within rounds."
)
SECTION = Section("What steps take of the machine", use, inside=inside)

"""What steps take of the machine: the share of its limit, memory, and page faults."""

from collections.abc import Iterator, Sequence

from analysis.findings.findings import Findings
from analysis.findings.series.use import USE, UseLine
from analysis.format import count, percent
from analysis.report.figures.roofline import roofline
from analysis.report.layout import Chapter, Paragraph, Parts, Rich, Section
from analysis.report.prose import (
    DECLARED,
    contender,
    more,
    place,
    share,
    subject,
    two,
    variant,
    workload,
)
from analysis.report.sections.comparing.comparisons import declared
from analysis.report.tables import Table, column

MANY = 1000  # page faults of a mini-batch; each costs the kernel a tenth of a microsecond or more
FEW = 0.1  # of them, in another variant


def compared(findings: Findings) -> list[UseLine]:
    return findings.machine.matched_rows(USE.of(findings))


def use_table(rows: Sequence[UseLine]) -> Table:
    """Without the columns that these records do not have."""
    columns = {
        "limit, ms": column([row.limit.ms or None for row in rows]),
        "binds": [row.limit.binds for row in rows],
        "share": [percent(round(row.limit.share, 2)) if row.limit.share else "" for row in rows],
        "peak MiB": column([row.peak_mib for row in rows], 0),
        "beyond the framework": column([row.own_mib for row in rows], 0),
        "page faults": column([row.faults for row in rows], 0),
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    return Table(
        "What steps take of the machine, per mini-batch",
        [("on", False), ("contender", False), *((name, name != "binds") for name in kept)],
        [
            [place(row.id), contender(row.id), *cells]
            for row, *cells in zip(rows, *kept.values(), strict=True)
        ],
        [],
        "use.csv",
    )


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


def causes(findings: Findings) -> Iterator[str]:
    """Variants with many page faults that a faster variant of the framework does not have, once
    for each workload."""
    lines = {row.id: row for row in compared(findings)}
    seen = set()
    for pair in findings.pairs:
        slow, fast = lines.get(pair.base), lines.get(pair.id)
        if pair.axis != "variant" or pair.estimate.verdict != "faster" or not (slow and fast):
            continue
        key = (slow.id.workload, slow.id.framework, slow.id.device)
        many, few = slow.faults or 0.0, fast.faults or 0.0
        if key not in seen and many >= MANY and few <= FEW * many:
            seen.add(key)
            yield (
                f"{subject(slow.id)} takes {two(many)} page faults in a mini-batch of the "
                f"{workload(slow.id.workload)} with {count(slow.id.threads, 'thread')}; "
                f"{variant(fast.id.variant)} takes {two(few)} and is faster"
                f"{f' {DECLARED}' * declared(pair)}."
            )


def use(chapter: Chapter) -> Parts:
    rows = compared(chapter.findings)
    if not rows:
        return []
    said = " ".join(causes(chapter.findings))
    return [
        use_table(rows),
        chapter.figure(roofline),
        Paragraph(said, opening="A cause.") if said else None,
        Paragraph(Rich(f"{ABOUT} {more('memory-and-the-machines-limit')}"), style="soft"),
    ]


def inside(chapter: Chapter) -> str:
    return " ".join(nearest(compared(chapter.findings))) or "Memory and page faults."


ABOUT = (
    "The limit is the longer of two times: the step's arithmetic at the speed of this machine's "
    "matrix product, and its least memory traffic at the speed of its memory stream. A share above "
    "100 % means that the step used the machine better than these two do. A process holds all "
    "workloads of its contest, so its peak is about all of them."
)
SECTION = Section("What steps take of the machine", use, inside=inside)

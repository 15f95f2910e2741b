"""What a pitfall costs: sentences, a figure and a table."""

from collections.abc import Sequence

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.variants.pitfalls import SAME, PitfallLine, share
from analysis.format import count, percent, sentence, title
from analysis.report.figures.sameness.pitfalls import pitfall_costs
from analysis.report.layout import Blocks, Chapter, Paragraph, Section
from analysis.report.prose import as_long, place, two, workload
from analysis.report.sections.measuring.missing import unused
from analysis.report.tables import Table, intervals


def pitfall_summary(rows: Sequence[PitfallLine]) -> str:
    """All pitfalls in a few sentences; "" if none was timed. Counts of slower and faster pitfalls
    leave out effects that chance may explain among so many."""
    timed = [row for row in rows if row.estimate.ratio is not None]
    if not timed:
        return ""
    slower = [row for row in timed if row.effect == "slower"]
    faster = [row for row in timed if row.effect == "faster"]
    alone = [row for row in timed if row.estimate.verdict in ("slower", "faster")]
    off = [row for row in timed if row.worst_loss > SAME]
    hidden = [row for row in off if not row.effect]
    early = [row for row in timed if row.early]
    found = [
        f"Of {count(len(timed), 'pitfall')} measured, {len(slower) or 'none'} cost time and "
        f"{len(faster) or 'none'} saved some"
        + f"; {len(early)} timed only a part of the work" * bool(early)
        + "."
    ]
    if seeming := len(alone) - len(slower) - len(faster):
        verb = "has" if seeming == 1 else "have"
        found.append(f"{seeming} more {verb} a verdict that chance may explain among {len(timed)}.")
    if slower:
        worst = max(slower, key=lambda row: row.estimate.ratio or 0)
        found.append(f"The costliest: {one(worst)} {as_long(worst.estimate.ratio or 1)}.")
    if early:
        least = min(early, key=lambda row: row.estimate.ratio or 1)
        shown = two(100 * (least.estimate.ratio or 1))
        found.append(f"The shortest: {one(least)} reports {shown} % of the true time.")
    if off:
        found.append(
            f"{len(off)} trained something else; the time does not show {len(hidden)} of these."
        )
    unknown = sum(not row.losses for row in timed)
    if unknown:
        found.append(f"The effect of {unknown} on the loss was not measured.")
    return " ".join(found)


def one(row: PitfallLine) -> str:
    """`eager, without tf.function, in TensorFlow on the MNIST CNN`"""
    return f"{row.pitfall}, in {title(row.id.framework)} on the {workload(row.id.workload)},"


def losses(row: PitfallLine) -> str:
    """`same`, or how far the loss is off at which step."""
    if not row.losses:
        return "not measured"
    if row.worst_loss <= SAME:
        return "same"
    step, worst = max(row.losses, key=lambda pair: pair[1])
    return f"{share(worst)} at step {step}"


def pitfall_table(findings: Findings) -> Table:
    rows = [row for row in findings.pitfalls if row.estimate.ratio is not None]
    cells = intervals(row.estimate.ends for row in rows)
    reasons = grouped(
        ((row.estimate.verdict, row.reason), row)
        for row in findings.pitfalls
        if (row.estimate.ratio is None or row.early) and row.reason
    )
    return Table(
        "Pitfalls: time over that of the same framework without, and the loss",
        [
            ("framework", False), ("on", False), ("pitfall", False), ("ratio", True),
            (f"{percent(findings.machine.study.confidence)} interval", True), ("verdict", False),
            ("loss off by", False),
        ],
        [
            [
                title(row.id.framework), place(row.id), row.pitfall, *ratio, row.estimate.verdict,
                losses(row),
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "traps.csv",
        [
            (who(found), f"{verdict}. {sentence(reason)}")
            for (verdict, reason), found in reasons.items()
            if not all(row.id.device in unused(findings) for row in found)
        ],
    )  # fmt: skip


def who(found: Sequence[PitfallLine]) -> str:
    """The pitfalls and where they were tried."""
    labels = "; ".join(dict.fromkeys(row.pitfall for row in found))
    where = "; ".join(dict.fromkeys(f"{title(r.id.framework)}, {place(r.id)}" for r in found))
    return f"{labels} ({where})"


def pitfalls(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    if not findings.machine.records.pitfalls:
        return []
    return [
        Paragraph(pitfall_summary(findings.pitfalls), style="lead"),
        chapter.figure(pitfall_costs, "traps"),
        pitfall_table(findings),
    ]


SECTION = Section(
    "What each pitfall costs",
    pitfalls,
    about="A pitfall is a default or a common mistake that makes a comparison unfair. Each runs by "
    "itself, beside the same framework without it, in the same contests. Their losses are compared "
    "in float64.",
    in_markdown=True,
)

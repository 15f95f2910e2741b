"""What a pitfall costs: sentences, a figure and a table."""

from collections.abc import Sequence

from analysis.data.results import Machine
from analysis.findings.findings import Findings
from analysis.findings.pitfalls import SAME, PitfallLine, share
from analysis.format import alike, count, listing, percent, scientific, sentence, title
from analysis.report.figures.pitfalls import pitfall_costs
from analysis.report.layout import Chapter, Claim, Claims, Folded, Paragraph, Parts, Rich, Section
from analysis.report.tables import Table, absent, estimate


def pitfall_claims(machine: Machine, rows: Sequence[PitfallLine]) -> list[Claim]:
    """A claim for every pitfall that was timed."""
    return [claim(machine, row) for row in rows if row.estimate.ratio is not None]


def claim(machine: Machine, row: PitfallLine) -> Claim:
    study = machine.study
    where = f"{title(row.id.framework)}, {row.id.workload}, {row.id.on}, {row.trap}"
    ratio, low, high = alike(*row.estimate.ends)
    finding = f"takes {ratio} times as long as {row.beside}"
    if row.estimate.ratio_low is None:
        finding += " (one replicate, no interval)"
    else:
        interval = f"{percent(study.confidence)} interval {low} to {high}"
        finding += f" ({interval}, {count(row.estimate.replicates, 'replicate')})"
    verdict = row.estimate.verdict
    if verdict == "equivalent":
        return Claim(where, finding, f"no difference in time within {percent(study.margin)}",
                     losses(row))  # fmt: skip
    return Claim(where, finding, verdict, losses(row))


def losses(row: PitfallLine) -> str:
    """`Loss off by 2.0 % at step 1 ...`, or that the loss is the same."""
    if not row.losses:
        return "What it does to the loss was not found out."
    worst = row.worst_loss
    if worst <= SAME:
        return f"The same loss, to {scientific(worst) if worst else 'the last digit'}."
    sizes = [f"{share(loss)} at step {step}" for step, loss in row.losses if loss > SAME]
    return f"Loss off by {listing(sizes)}."


def pitfall_summary(rows: Sequence[PitfallLine]) -> str:
    """All pitfalls in one sentence; "" if none was timed."""
    timed = [row for row in rows if row.estimate.ratio is not None]
    if not timed:
        return ""
    slower = [row for row in timed if row.estimate.verdict == "slower"]
    faster = [row for row in timed if row.estimate.verdict == "faster"]
    traced = [row for row in timed if row.losses]
    off = [row for row in traced if row.worst_loss > SAME]
    seen = [row for row in off if row.estimate.verdict in ("slower", "faster")]
    text = f"One trap at a time, in {count(len(timed), 'case')}: {len(slower) or 'none'} cost time"
    if slower:
        text += f" (up to {alike(max(row.estimate.ratio or 0 for row in slower))[0]} times as long)"
    text += f", {len(faster) or 'none'} saved some"
    if faster:
        text += f" (down to {alike(min(row.estimate.ratio or 0 for row in faster))[0]})"
    known = f" of the {len(traced)} whose losses are known" * (len(traced) < len(timed))
    return (
        f"{text}, and {len(off) or 'none'}{known} trained something else: a float64 loss more than "
        f"{SAME:g} off within 100 steps. The time alone gives away {len(seen) or 'none'} of those."
    )


def pitfall_table(findings: Findings) -> Table:
    study = findings.machine.study
    data = findings.machine.dataset
    rows = [row for row in findings.pitfalls if row.estimate.ratio is not None]
    return Table(
        "Traps: time over that of the same framework without, and relative difference of the loss",
        [
            ("framework", False), ("workload", False), ("data", False), ("on", False),
            ("trap", False), ("ratio", True), (f"{percent(study.confidence)} interval", True),
            ("verdict", False), ("loss off at step 1", True),
            ("step 10", True), ("step 100", True), ("last step", True),
            ("float32 loss at a turn's end", True), ("without", True),
        ],
        [
            [
                title(row.id.framework), row.id.workload, data(row.id.workload),
                row.id.on, row.trap,
                *estimate(*row.estimate.ends), row.estimate.verdict,
                *(
                    "" if loss is None else share(loss)
                    for loss in (row.loss_1, row.loss_10, row.loss_100, row.loss_last)
                ),
                *alike(row.end_loss, row.beside_end_loss),
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.pitfalls if row.estimate.ratio is None],
            lambda row: f"{row.estimate.verdict}. {sentence(row.reason)}",
        ),
        "traps.csv",
    )  # fmt: skip


def pitfalls(chapter: Chapter) -> Parts:
    findings = chapter.findings
    if not findings.machine.records.pitfalls:
        return []
    return [
        Paragraph(pitfall_summary(findings.pitfalls), style="lead"),
        chapter.figure(pitfall_costs, "traps"),
        Claims(pitfall_claims(findings.machine, findings.pitfalls)),
        Folded("All traps in a table", pitfall_table(findings), in_markdown=False),
    ]


SECTION = Section(
    "What a trap costs",
    pitfalls,
    about=Rich(
        "A trap is a default of the framework's own, or a common mistake. Each runs by itself, "
        "beside the same framework without it, in the same contests; none is compared with "
        "another framework. Verdicts as under Comparisons."
    ),
)

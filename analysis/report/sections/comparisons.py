"""The ratios, how precise they are, and how far controls and interference support them."""

from analysis.findings.fairness.certificates import components
from analysis.findings.findings import Findings
from analysis.format import listing, percent, sentence, title
from analysis.report.figures.ratios import ratios
from analysis.report.layout import Chapter, Commands, File, Paragraph, Parts, Section
from analysis.report.sections.controls import control_table
from analysis.report.sections.interference import interference_summary
from analysis.report.sections.precision import advice
from analysis.report.tables import Table, absent, estimate


def comparison_table(findings: Findings) -> Table:
    study = findings.machine.study
    data = findings.machine.dataset
    rows = [row for row in findings.comparisons if row.estimate.ratio is not None]
    pairs = list(dict.fromkeys(f"{title(r.id.framework)} to {r.against}" for r in rows))
    several = len(pairs) > 1
    return Table(
        f"Ratio of times per mini-batch, {listing(pairs)}" if rows else "Ratios of times",
        [
            ("workload", False), ("data", False), ("on", False), ("variant", False),
            *[("ratio of", False)] * several, ("ratio", True),
            (f"{percent(study.confidence)} interval", True), ("verdict", False),
            ("same computation", False),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.on, row.id.variant,
                *[f"{title(row.id.framework)} to {row.against}"] * several,
                *estimate(*row.estimate.ends), row.estimate.verdict, same(row.certificate),
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.comparisons if row.reason],
            lambda row: f"{row.estimate.verdict}. {sentence(row.reason)}",
        ),
        "comparisons.csv",
    )  # fmt: skip


def same(certificate: str) -> str:
    """The certificate without the sizes of deviations, which have their own table."""
    deviating = components(certificate)
    return f"declared: {listing(deviating)}" if deviating else certificate


def comparisons(chapter: Chapter) -> Parts:
    findings = chapter.findings
    return [
        chapter.figure(ratios),
        comparison_table(findings),
        *precision(chapter),
        control_table(findings),
        Paragraph(interference_summary(findings), opening="Weather."),
        *[File("unflagged.csv") for _ in findings.unflagged[:1]],
    ]


def precision(chapter: Chapter) -> Parts:
    found = advice(chapter.findings.machine, chapter.findings.precision)
    if not found.sentences:
        return []
    return [
        Paragraph(" ".join(found.sentences), opening="How precise that is."),
        Commands([found.command] if found.command else []),
        File("precision.csv"),
    ]


SECTION = Section("Comparisons", comparisons, in_markdown=True)

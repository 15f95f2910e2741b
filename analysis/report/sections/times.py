"""The times of each contender: mini-batches, warm-up and start-up."""

from analysis.findings.findings import Findings
from analysis.findings.steady_state import SteadyLine
from analysis.format import alike, percent, sentence, three
from analysis.report.figures.distributions import distributions
from analysis.report.figures.series import series
from analysis.report.figures.start import start
from analysis.report.layout import Chapter, Paragraph, Parts, Section
from analysis.report.sections.start import start_summary, start_table
from analysis.report.tables import Table, absent, estimate


def contender_table(findings: Findings) -> Table:
    study = findings.machine.study
    data = findings.machine.dataset
    rows = [row for row in findings.contenders if row.median_ms is not None]
    return Table(
        "Contenders: milliseconds per mini-batch, transfer and step",
        [
            ("workload", False), ("data", False), ("on", False), ("contender", False),
            ("median", True), (f"{percent(study.confidence)} interval", True),
            ("middle half", True), ("very first", True), ("samples per s, mean", True),
            ("replicates", True), ("mini-batches", True),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.on,
                row.id.who,
                *estimate(row.median_ms, row.low_ms, row.high_ms),
                " to ".join(alike(row.q25_ms, row.q75_ms)),
                three(row.first_batch_ms), three(row.samples_per_s), str(row.replicates),
                str(row.batches),
            ]
            for row in rows
        ]
        + [
            [
                row.workload, "", "", "nothing: the harness itself",
                *estimate(row.median_ms, row.low_ms, row.high_ms),
                " to ".join(alike(row.q25_ms, row.q75_ms)), "", "", str(row.replicates),
                str(row.batches),
            ]
            for row in findings.harness
        ],
        absent(
            [row for row in findings.contenders if row.reason],
            lambda row: f"{row.status}. {sentence(row.reason)}",
        ),
        "contenders.csv",
    )  # fmt: skip


def steady_table(findings: Findings) -> Table:
    rows = findings.machine.matched_rows(findings.steady)
    return Table(
        "Steady state: how much longer mini-batches took in the last third of the rounds than in "
        "the first, in percent, beyond the other contenders on the same cores",
        [
            ("workload", False), ("on", False), ("contender", False), ("drift", True),
            (f"{percent(findings.machine.study.confidence)} interval, all together", True),
            ("steady", False),
        ],
        [
            [
                row.id.workload, row.id.on, row.id.who, *drift(row), "yes" if row.steady else "no",
            ]
            for row in rows
            if row.drift is not None
        ],
        absent(
            [row for row in rows if row.drift is None],
            lambda row: "not checked: fewer than two others ran on the same cores.",
        ),
        "steady.csv",
    )  # fmt: skip


def drift(row: SteadyLine) -> list[str]:
    """Two cells: the drift in percent, and its interval."""
    values = (row.drift, row.drift_low, row.drift_high)
    middle, *ends = ["" if value is None else f"{100 * value:.1f}" for value in values]
    return [middle, " to ".join(ends) if ends[0] else ""]


def times(chapter: Chapter) -> Parts:
    findings = chapter.findings
    return [
        contender_table(findings),
        chapter.figure(distributions),
        chapter.figure(series),
        steady_table(findings),
        start_table(findings),
        Paragraph(start_summary(findings)),
        chapter.figure(start),
    ]


SECTION = Section("Times", times)

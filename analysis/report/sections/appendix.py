"""Reference material: caveats, settings, missing measurements, the machine and the commands."""

from collections.abc import Sequence

from analysis.findings.fairness.audit import entries
from analysis.findings.fairness.checklist import ABSENT, HANDLED
from analysis.findings.findings import Findings
from analysis.findings.machine import summary as machine_summary
from analysis.findings.missing import grouped
from analysis.findings.series.machine_speed import NAMES, SPEED, speed_summary
from analysis.format import count, percent, three, title
from analysis.report.layout import (
    Bullets,
    Chapter,
    Commands,
    File,
    Folded,
    Paragraph,
    Parts,
    Section,
    StudySection,
)
from analysis.report.tables import Table


def setting_table(findings: Findings) -> Table:
    """A row for each pitfall of the checklist; the notes are pitfalls that the harness rules out
    for every framework."""
    found = entries(findings.compared_settings)
    frameworks = list(found[0].values) if found else []
    return Table(
        "The ledger: what may differ between frameworks, as read back from them or found by probe",
        [
            ("trap", False), *((title(name), False) for name in frameworks),
            ("status", False), ("what it matters", False),
        ],
        [
            [
                one.title, *(one.values[name] for name in frameworks),
                f"{one.status} ({one.where})" if one.where else one.status, one.matters,
            ]
            for one in found
        ],
        [*HANDLED.items(), *ABSENT.items()],
        "settings.csv",
    )  # fmt: skip


def environment_table(findings: Findings) -> Table:
    return Table(
        "Machine, versions and code",
        [("key", False), ("value", False)],
        [
            [line.key, line.value + " (changed between contests)" * (line.changed == "yes")]
            for line in findings.environment
        ],
        [],
        "machine.csv",
    )


def speed_table(findings: Findings) -> Table:
    rows = [row for row in SPEED.of(findings) if row.replicate is None]
    return Table(
        "The machine's own speed; spread is from the 10th to the 90th percentile of rounds",
        [
            ("workload", False), ("on", False), ("computation", False), ("ms per pass", True),
            ("GFLOP/s", True), ("GB/s", True), ("spread", True),
            ("slowest replicate", True), ("fastest replicate", True),
        ],
        [
            [
                row.workload, count(row.threads, "thread"), NAMES.get(row.variant, row.variant),
                three(row.median_ms), three(row.gflop_per_s), three(row.gb_per_s),
                percent(row.spread),
                f"{row.slowest_replicate}: {three(row.slowest_ms)} ms",
                f"{row.fastest_replicate}: {three(row.fastest_ms)} ms",
            ]
            for row in rows
        ],
        [],
        "machine_speed.csv",
    )  # fmt: skip


def caveats(chapter: Chapter) -> Parts:
    return [Bullets([caveat.text for caveat in chapter.notes])]


def settings(chapter: Chapter) -> Parts:
    return [setting_table(chapter.findings)]


def missing(chapter: Chapter) -> Parts:
    found = grouped(chapter.findings.missing)
    nothing = "Nothing: every contender was measured in every replicate."
    return [
        Bullets([f"{who}: {why}" for who, why in found]),
        Paragraph("" if found else nothing),
        File("missing.csv"),
    ]


def machine(chapter: Chapter) -> Parts:
    findings, machine = chapter.findings, chapter.findings.machine
    speed = SPEED.of(findings)
    codes = {(c.code.version, c.code.commit, c.code.dirty) for c in machine.records.contests}
    code = "; ".join(
        f"samestep {version}, commit {commit or 'unknown'}" + ", with changes" * dirty
        for version, commit, dirty in sorted(codes)
    )
    return [
        Paragraph(f"{machine_summary(machine)}. {code}."),
        Paragraph(speed_summary(speed), "The machine's own speed."),
        Folded("Speed by workload", speed_table(findings)) if speed else None,
        Folded("Everything recorded", environment_table(findings)),
    ]


def again(chapters: Sequence[Chapter]) -> Parts:
    studies = [chapter.findings.machine.study for chapter in chapters]
    report = f"reports/{studies[0].name}"
    folders = " ".join(f"{report}/machines/{chapter.name}" for chapter in chapters)
    return [
        Paragraph("Measure it again:"),
        Commands(list(dict.fromkeys(study.command for study in studies))),
        Paragraph("Rebuild this report from the records, without any framework installed:"),
        Commands([f"python -m analysis {folders} --out {report}"]),
    ]


CAVEATS = Section("What weakens it", caveats)
SETTINGS = Section("Settings", settings)
MISSING = Section("What is missing", missing)
MACHINE = Section("Machine and versions", machine)
AGAIN = StudySection("Again", again)

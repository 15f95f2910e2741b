"""The commands that measure the study again, and that rebuild its report."""

import shlex
from collections.abc import Sequence

from analysis.report.layout import Chapter, Commands, Paragraph, Parts, StudySection


def again(chapters: Sequence[Chapter]) -> Parts:
    studies = [chapter.findings.machine.study for chapter in chapters]
    report = f"reports/{studies[0].name}"
    folders = [f"{report}/machines/{chapter.name}" for chapter in chapters]
    command = ["python", "-m", "analysis", *folders, "--out", report]
    return [
        Paragraph("Measure it again:"),
        Commands(list(dict.fromkeys(study.command for study in studies))),
        Paragraph("Rebuild this report from its records, without any framework installed:"),
        Commands([shlex.join(command)]),
    ]


AGAIN = StudySection(
    "Run it again", again, "The commands that measure it again and that rebuild this report."
)

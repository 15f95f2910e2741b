"""The commands that measure the study again, and that rebuild its report."""

import shlex
from collections.abc import Sequence

from analysis.report.layout import Chapter, Commands, Paragraph, Parts, Rich, StudySection

EARLIER = "Add `--earlier` and the folders of the other studies that *Other times* has beside it."


def again(chapters: Sequence[Chapter]) -> Parts:
    studies = [chapter.findings.machine.study for chapter in chapters]
    report = f"reports/{studies[0].name}"
    folders = [f"{report}/machines/{chapter.name}" for chapter in chapters]
    command = ["python", "-m", "analysis", *folders, "--out", report]
    others = any(chapter.findings.machine.others for chapter in chapters)
    return [
        Paragraph("Measure it again:"),
        Commands(list(dict.fromkeys(study.command for study in studies))),
        Paragraph("Rebuild this report from its records, without any framework installed:"),
        Commands([shlex.join(command)]),
        Paragraph(Rich(EARLIER)) if others else None,
    ]


AGAIN = StudySection(
    "Run it again", again, "The commands that measure it again and that rebuild this report."
)

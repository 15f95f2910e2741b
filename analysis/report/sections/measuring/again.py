"""The commands that measure the study again, and that rebuild its report."""

import shlex
from collections.abc import Sequence

from analysis.report.layout import Blocks, Chapter, Commands, Paragraph, Rich, StudySection

REBUILD = "Rebuild this report from its records, without any framework installed:"
EARLIER = "Add `--earlier` and the folders of the other studies that *Other times* has beside it."


def again(chapters: Sequence[Chapter]) -> Blocks:
    machines = [chapter.findings.machine for chapter in chapters]
    report = f"reports/{machines[0].study.name}"
    folders = [f"reports/{m.study.name}/machines/{m.records.machine}" for m in machines]
    command = ["python", "-m", "analysis", *folders, "--out", report]
    # The folders are unknown for studies of several names, or for two starts of a machine.
    alone = len({m.study.name for m in machines}) == 1 and len({*folders}) == len(folders)
    others = any(machine.others for machine in machines)
    return [
        Paragraph("Measure it again:"),
        Commands(list(dict.fromkeys(machine.study.command for machine in machines))),
        Paragraph(REBUILD) if alone else None,
        Commands([shlex.join(command)]) if alone else None,
        Paragraph(Rich(EARLIER)) if others else None,
    ]


AGAIN = StudySection(
    "Run it again", again, "The commands that measure it again and that rebuild this report."
)

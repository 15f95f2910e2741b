"""The machine, its own speed, and everything else that was recorded about it."""

from collections.abc import Iterable

from analysis.findings.machine import MachineLine
from analysis.findings.machine import summary as machine_summary
from analysis.findings.speed.machine_speed import SPEED, speed_summary
from analysis.report.layout import Blocks, Chapter, File, Paragraph, Section, Terms

ELSEWHERE = ("summary", "samestep", "dataset")  # subjects that the page shows already


def recorded(lines: Iterable[MachineLine]) -> list[tuple[str, str]]:
    """Each subject with all its facts: `cpu` with `model AMD EPYC; physical 2`."""
    found: dict[str, list[str]] = {}
    for line in lines:
        subject, _, key = line.key.partition(".")
        changed = " (changed between contests)" * (line.changed == "yes")
        if subject not in ELSEWHERE:
            found.setdefault(subject, []).append(f"{key} {line.value}{changed}".lstrip())
    return [(name.replace("_", " "), "; ".join(facts)) for name, facts in found.items()]


def machine(chapter: Chapter) -> Blocks:
    findings, machine = chapter.findings, chapter.findings.machine
    codes = {(c.code.version, c.code.commit, c.code.dirty) for c in machine.records.contests}
    code = "; ".join(
        f"samestep {version}, commit {commit or 'unknown'}" + ", with changes" * dirty
        for version, commit, dirty in sorted(codes)
    )
    speed = SPEED.of(findings)
    return [
        Paragraph(". ".join(filter(None, [machine_summary(machine), code])) + "."),
        Paragraph(speed_summary(speed), "The machine's own speed."),
        File("machine_speed.csv") if speed else None,
        Terms(recorded(findings.system_info)),
        File("machine.csv"),
    ]


def inside(chapter: Chapter) -> str:
    findings = chapter.findings
    return f"{machine_summary(findings.machine)}; {len(findings.system_info)} facts in all."


SECTION = Section("Machine and everything recorded", machine, inside=inside)

"""The report: everything above, put into words and pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.data.results import Machine
from analysis.findings.findings import Findings, tables
from analysis.findings.machine import summary as machine_summary
from analysis.findings.missing import grouped
from analysis.format import percent, titled
from analysis.report.caveats.caveat import Caveat
from analysis.report.caveats.registry import caveats, notes, warnings
from analysis.report.figures import Figure, figures
from analysis.report.figures.style import Theme
from analysis.report.sections.answer import Claim, claims, summary
from analysis.report.sections.certificates import (
    certificate_table,
    deviation_table,
    optimiser_table,
    rounding_table,
)
from analysis.report.sections.controls import control_summary, control_table
from analysis.report.sections.interference import weather, weather_table
from analysis.report.sections.method import Described, method
from analysis.report.sections.pitfalls import trap_claims, trap_summary, trap_table
from analysis.report.sections.precision import Advice, advice
from analysis.report.sections.start import start_summary, start_table
from analysis.report.sections.workloads import workloads
from analysis.report.tables import (
    Display,
    comparison_table,
    contender_table,
    device_table,
    environment_table,
    setting_table,
    steady_table,
)
from workflows.records.storage import atomic

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Chapter:
    """What the report says about one machine."""

    machine: str
    line: str
    warnings: list[Caveat]
    controls: str
    data: list[str]
    summary: list[str]
    claims: list[Claim]
    advice: Advice
    trap_summary: str
    traps: list[Claim]
    weather: str
    start: str
    figures: dict[str, Figure]
    tables: dict[str, Display | None]
    method: Described
    workloads: Described
    notes: list[str]
    missing: list[tuple[str, str]]
    command: str
    code: list[str]


def chapter(findings: Findings, look: Theme, machines: int) -> Chapter:
    """Figures of one among several `machines` carry its name."""
    machine = findings.machine
    suffix = f"-{machine.name}" if machines > 1 else ""
    drawn = figures(findings, look, suffix)
    found = caveats(findings, machines)
    codes = {(c.code.version, c.code.commit, c.code.dirty) for c in machine.records.contests}
    return Chapter(
        machine=machine.name,
        line=machine_summary(machine),
        data=[f"{record.workload}: {record.source}" for record in machine.records.datasets],
        warnings=warnings(found),
        controls=control_summary(findings),
        summary=summary(machine, findings.comparisons),
        claims=claims(machine, findings.comparisons),
        advice=advice(machine, findings.precision),
        trap_summary=trap_summary(findings.traps),
        traps=trap_claims(machine, findings.traps),
        weather=weather(findings),
        start=start_summary(findings),
        figures={figure.name.removesuffix(suffix): figure for figure in drawn},
        tables={
            "traps": trap_table(findings),
            "comparisons": comparison_table(findings),
            "controls": control_table(findings),
            "weather": weather_table(findings),
            "contenders": contender_table(findings),
            "steady": steady_table(findings),
            "start": start_table(findings),
            "devices": device_table(findings),
            "certificate": certificate_table(findings),
            "optimisers": optimiser_table(findings),
            "deviations": deviation_table(findings),
            "rounding": rounding_table(findings),
            "settings": setting_table(findings),
            "machine": environment_table(findings),
        },
        method=method(findings),
        workloads=workloads(machine),
        notes=notes(found),
        missing=grouped(findings.missing),
        command=machine.study.command,
        code=[
            f"samestep {version}, commit {commit or 'unknown'}" + ", with changes" * dirty
            for version, commit, dirty in sorted(codes)
        ],
    )


def write(machines: Sequence[Machine], out: Path) -> list[Chapter]:
    """Write tables, figures and pages to `out`, the HTML page last, and remove figures and
    tables of an earlier rendering that this one does not have."""
    found = [Findings(machine) for machine in machines]
    look = Theme.of(
        seat for findings in found for seat in findings.roster if not findings.machine.apart(seat)
    )
    chapters = []
    for findings in found:
        with titled(findings.machine.titles):
            chapters.append(chapter(findings, look, len(found)))
    files: dict[str, str | bytes] = {}
    for name, text in tables(found).items():
        files[f"tables/{name}.csv"] = text
    for one in chapters:
        for figure in one.figures.values():
            files[f"figures/{figure.name}.svg"] = figure.file
            files[f"figures/{figure.name}.png"] = figure.png
    files |= pages(machines, chapters)
    for name, content in files.items():
        with atomic(out / name) as temporary:
            data = content if isinstance(content, bytes) else content.encode()
            temporary.write_bytes(data)
    for pattern in ("tables/*.csv", "figures/*.svg", "figures/*.png"):
        for path in out.glob(pattern):
            if path.relative_to(out).as_posix() not in files:
                path.unlink()
    return chapters


def unbroken(value: Any) -> Any:
    """For HTML: `3 %`, `400 MB` and `1e-12` stay on one line."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    value = re.sub(r"(?<=\d) (?=(%|[kMGT]?B|[kMGT]?FLOP)\b|%)", "\u00a0", value)
    return re.sub(r"(?<=\d)e-(?=\d)", "e-\u2060", value)


def plain(value: Any) -> Any:
    """For Markdown: what looks like a tag is text."""
    return value.replace("<", "&lt;") if isinstance(value, str) else value


def pages(machines: Sequence[Machine], chapters: Sequence[Chapter]) -> dict[str, str | bytes]:
    study = machines[0].study
    words: dict[str, Any] = {
        "study": study,
        "margin": percent(study.margin),
        "confidence": percent(study.confidence),
        "chapters": chapters,
        "traps": any(one.records.traps for one in machines),
        "several": len(chapters) > 1,
        "rebuild": "python -m analysis "
        + " ".join(f"reports/{study.name}/machines/{one.machine}" for one in chapters)
        + f" --out reports/{study.name}",
    }
    written: dict[str, str | bytes] = {}
    for name, escape in (("report.md", False), ("report.html", True)):
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            undefined=StrictUndefined,
            autoescape=escape,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=unbroken if escape else plain,
        )
        environment.filters["cell"] = lambda text: text.replace("|", "\\|")
        environment.globals["svg"] = lambda figure: Markup(figure.inline)  # our own drawing
        written[name] = environment.get_template(f"{name}.j2").render(words)
    return written

"""What a reader must know before the answer."""

from typing import NamedTuple

from analysis.findings.fairness.audit import mismatches
from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, title
from analysis.report.controls import control_warning
from analysis.report.interference import lost_claims, spoken


class Notice(NamedTuple):
    """`heading` is one or two words that also stand without colour."""

    heading: str
    text: str


def notices(findings: Findings) -> list[Notice]:
    machine = findings.machine
    found = []
    if machine.study.smoke:
        found.append(
            Notice(
                "SMOKE RUN",
                "a small budget to see that everything works. Conclude nothing from the numbers.",
            )
        )
    for record in machine.records.datasets:
        if record.kind == "stand-in":
            found.append(
                Notice(
                    "Stand-in data",
                    f"{record.workload} did not run on MNIST but on {record.source}.",
                )
            )
    if not findings.measured:
        found.append(Notice("Nothing measured", "no contender left a steady-state mini-batch."))
    if used := {r.reference for r in findings.comparisons} - {machine.study.reference}:
        found.append(
            Notice(
                "Other reference",
                f"{title(machine.study.reference)} was not measured; "
                f"ratios refer to {listing(title(name) for name in sorted(used))}.",
            )
        )
    if warning := control_warning(machine, findings.controls):
        found.append(Notice("Controls wrong", warning))
    refused = [row for row in findings.comparisons if row.verdict == "refused"]
    if refused:
        keys = [(r.workload, r.framework, r.variant, r.device, r.threads) for r in refused]
        found.append(
            Notice(
                "Refused",
                f"{count(len(refused), 'pair')} not shown to compute the same, so their times are "
                f"given but not compared: {crossed(keys)}.",
            )
        )
    restless = [line for line in findings.steady if not line.steady]
    if restless:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in restless]
        found.append(
            Notice(
                "No steady state",
                f"{count(len(restless), 'contender')} whose times went on changing in most "
                f"processes, so they are given as a range and not compared: {crossed(keys)}.",
            )
        )
    for setting, where in mismatches(findings.compared_settings):
        found.append(
            Notice("Mismatched", f"{setting} should be equal and is not: {where}. See the ledger.")
        )
    if lost := lost_claims(findings.weathered):
        text = "without the turns flagged for steal time, other load or frequency, claims change: "
        found.append(Notice("Weather", f"{text}{spoken(lost)}."))
    failed = [line for line in findings.missing if line.status == "failed"]
    if failed:
        keys = [(f.workload, f.framework, f.variant, f.device, f.threads) for f in failed]
        found.append(Notice("Failures", f"{crossed(keys)}; reasons under What is missing."))
    return found

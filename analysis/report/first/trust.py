"""The strip: what the reader's trust rests on, and what the study does not cover."""

from analysis.findings.fairness.certificates import components
from analysis.findings.findings import Findings
from analysis.findings.series.movement import MOVEMENT
from analysis.format import count, listing, percent, scientific, short
from analysis.report.first import Chip
from analysis.report.prose import DECLARED, two
from frameworks.device import DEVICES, HOST

GOOD, OPEN, BAD, NONE = "✓", "~", "!", "✗"


def strip(findings: Findings) -> list[Chip]:
    return [same(findings), self_test(findings), repeats(findings), covered(findings)]


def same(findings: Findings) -> Chip:
    heading, section = "Same computation", "The same losses"
    rows = [row for row in findings.comparisons if row.estimate.verdict != "missing"]
    refused = sum(row.estimate.verdict == "refused" for row in rows)
    agree = sum(row.certificate.startswith("agrees") for row in rows)
    declared = [part for row in rows for part in components(row.certificate)]
    if not rows:
        return Chip(OPEN, heading, "No two contenders were compared.", section)
    records = findings.machine.records.certificates
    steps = min(record.steps for record in records) if records else 0
    within = short(max(record.tolerance for record in records)) if records else scientific(0)
    text = (
        f"{agree} of {count(len(rows), 'comparison')} agree within {within} over {steps} steps in "
        "float64."
    )
    if declared:
        parts = listing(dict.fromkeys(declared))
        text += f" {DECLARED} {len(declared)} differ in what is declared: {parts}."
    if refused:
        text += f" {refused} refused."
    return Chip(BAD if refused else GOOD, heading, text, section)


def self_test(findings: Findings) -> Chip:
    heading = section = "Self-test"
    judged = [row for row in findings.controls if row.contains_truth is not None]
    if not judged:
        text = "None: no contender ran a second time. Add controls to the configuration."
        return Chip(OPEN, heading, text, section)
    right = sum(bool(row.contains_truth) for row in judged)
    lie = "lies" if right == 1 else "lie"
    text = (
        f"Of {count(len(judged), 'ratio')} that the harness set itself, {right} {lie} in their "
        "intervals."
    )
    return Chip(GOOD if right == len(judged) else OPEN, heading, text, section)


def repeats(findings: Findings) -> Chip:
    heading, section = "Repeats", "Other times"
    rows = MOVEMENT.of(findings)
    if not rows:
        text = "Not repeated: one study, at one time, on one machine. Another host can give others."
        return Chip(OPEN, heading, text, section)
    studies = len(findings.machine.others) + 1
    turned = sum(row.crossed for row in rows)
    most = percent(float(two(max(row.spread for row in rows))))
    text = (
        f"In {studies} studies of this machine, {turned or 'none'} of {len(rows)} ratios changed "
        f"direction, and each moved by at most {most}."
    )
    return Chip(OPEN if turned else GOOD, heading, text, section)


def covered(findings: Findings) -> Chip:
    measured = [line.id for line in findings.matrix if line.ms is not None]
    devices = {one.device for one in measured}
    missing = [f"{name.title}s" for key, name in DEVICES.items()
               if key != HOST.name and key not in devices]  # fmt: skip
    threads = max((one.threads for one in measured), default=0)
    gaps = sum(line.ms is None and line.id.device in devices for line in findings.matrix)
    missing += [f"more than {count(threads, 'thread')}"] * bool(threads)
    missing += [f"{count(gaps, 'contender')} without a time"] * bool(gaps)
    missing += ["other models and machines"]
    text = listing(missing)
    return Chip(NONE, "Not covered", f"{text[0].upper()}{text[1:]}.", "What is missing")

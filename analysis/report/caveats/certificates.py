"""Caveats about the proof that all contenders compute the same."""

from collections.abc import Iterator

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.audit import entries, mismatches
from analysis.findings.fairness.settings import UNRECORDED
from analysis.findings.fairness.turn_weights import hidden_updates
from analysis.findings.findings import Findings
from analysis.format import count, few, listing, percent, quoted, sentence
from analysis.report.layout import Caveat, note, warning
from analysis.report.prose import contender, place, places
from analysis.report.prose import workload as workload_title
from analysis.report.sections.sameness.differences import named

PART = 0.5  # of a turn's steps: a warning if fewer were compared
NAMED = 2  # tensors of a workload


def refused(findings: Findings) -> Iterator[Caveat]:
    pairs = [row.id for row in findings.comparisons if row.estimate.verdict == "refused"]
    if pairs:
        yield warning(
            "Refused",
            f"{count(len(pairs), 'pair')} not shown to compute the same: {places(pairs)}.",
            "They have times but no ratio; The same losses or What is missing names the cause.",
        )


def mismatched(findings: Findings) -> Iterator[Caveat]:
    """A refused contender has no ratio, and its certificate names the cause: settings that follow
    from it are in the audit alone."""
    refused = {row.id for row in findings.certificate if row.status in ("refused", "failed")}
    lines = [line for line in findings.compared_settings if line.id not in refused]
    for setting, where in mismatches(lines, named):
        yield warning(
            "Mismatched",
            quoted(f"{setting} should be equal and is not: {where}."),
            "Do not rely on ratios there; make the setting equal or declare it.",
        )


def uncertified(findings: Findings) -> Iterator[Caveat]:
    """Contenders whose times are shown although they are in no comparison."""
    decided = [
        row.id
        for row in findings.comparisons
        if row.estimate.ratio is not None or row.estimate.verdict == "refused"
    ]
    paired = {(one.workload, one.framework, one.variant) for one in decided}
    for row in findings.machine.matched_rows(findings.certificate):
        alone = (row.id.workload, row.id.framework, row.id.variant) not in paired
        if alone and row.status in ("refused", "failed"):
            yield note(
                f"The certificate of {contender(row.id)} ({place(row.id)}) is {row.status}: "
                f"{quoted(sentence(row.reason))}",
                "Do not compare its times.",
            )


def other_optimisers(findings: Findings) -> Iterator[Caveat]:
    """Refused optimisers that no workload here uses. No comparison is refused because of them."""
    found: dict[str, list[tuple[BenchmarkId, str]]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            for kind, other in row.optimisers.items():
                if other.status == "refused":
                    reasons = found.setdefault(kind, [])
                    reasons.append((BenchmarkId.of(record.workload, row), other.reason))
    for kind, rows in found.items():
        yield note(
            f"Refused with {quoted(kind)}: {places(one for one, _ in rows)}: "
            f"{quoted(sentence(rows[0][1]))}",
            "Nothing here is timed with it; mend the adapter before you do.",
        )


def compared_in_part(findings: Findings) -> Iterator[Caveat]:
    check = findings.loss_check
    if check.first is not None and check.share < PART:
        yield warning(
            "Compared in part",
            f"Only the first {count(check.first, 'step')} of a turn could be compared with "
            f"float64, {percent(check.share)} of it.",
            "Set shorter turns (`contest.turn`).",
        )


def hidden(findings: Findings) -> Iterator[Caveat]:
    found = hidden_updates(findings.machine)
    if found:
        parts = [
            f"{quoted(few(names, NAMED))} of {workload_title(workload)} ({len(names)} of {every})"
            for workload, (names, every) in found.items()
        ]
        yield note(
            "Timed turns do not show whether these weights are trained, because they do not move "
            f"or float32 loses most of their updates: {listing(parts)}.",
            "Believe the certificate in float64, which shows it, or raise the learning rate.",
        )


def unrecorded(findings: Findings) -> Iterator[Caveat]:
    unknown = [one.title for one in entries(findings.compared_settings) if one.status == UNRECORDED]
    if unknown:
        yield note(
            f"Not read back in these records: {listing(unknown)}.",
            "Measure again with this version to compare them.",
        )


def changed_settings(findings: Findings) -> Iterator[Caveat]:
    changing = {line.setting for line in findings.compared_settings if " | " in line.value}
    if changing:
        yield note(
            f"Settings that changed between replicates: {quoted(listing(sorted(changing)))}.",
            "Measure the replicates again under one setting.",
        )

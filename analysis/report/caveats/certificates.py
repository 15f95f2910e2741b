"""Caveats about the proof that all contenders compute the same."""

from collections.abc import Iterator

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.audit import entries, mismatches
from analysis.findings.fairness.certificates import size
from analysis.findings.fairness.settings import UNRECORDED
from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, sentence
from analysis.report.layout import Caveat, note, warning
from workflows.records.schema import CertificateRow


def refused(findings: Findings) -> Iterator[Caveat]:
    pairs = [row for row in findings.comparisons if row.estimate.verdict == "refused"]
    if pairs:
        keys = [r.id for r in pairs]
        yield warning(
            "Refused",
            f"{count(len(pairs), 'pair')} not shown to compute the same, so their times are "
            f"given but not compared: {crossed(keys)}.",
        )


def mismatched(findings: Findings) -> Iterator[Caveat]:
    for setting, where in mismatches(findings.compared_settings):
        yield warning(
            "Mismatched", f"{setting} should be equal and is not: {where}. See the ledger."
        )


def deviations(findings: Findings) -> Iterator[Caveat]:
    found: dict[str, list[tuple[BenchmarkId, CertificateRow]]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            if row.status == "declared":
                found.setdefault(row.reason, []).append((BenchmarkId.of(record.workload, row), row))
    for reason, rows in found.items():
        steps = findings.machine.records.certificates[0].declared_steps
        yield note(
            f"Declared deviation in {crossed([benchmark for benchmark, _ in rows])}: {reason}. "
            f"Its size: {size([row for _, row in rows], steps)}. "
            "With plain SGD in its place the certificate holds."
        )


def otherwise_timed(findings: Findings) -> Iterator[Caveat]:
    found: dict[str, list[BenchmarkId]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            if row.timed:
                found.setdefault(row.timed, []).append(BenchmarkId.of(record.workload, row))
    for text, benchmarks in found.items():
        yield note(f"Not timed as all others, {crossed(benchmarks)}: {sentence(text)}")


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
            who = f"{row.id.who} on {row.id.workload}"
            yield note(f"Certificate {row.status}, {who}: {sentence(row.reason)}")


def other_optimisers(findings: Findings) -> Iterator[Caveat]:
    """An optimiser that is refused and that no workload here uses; no comparison is refused
    for it."""
    found: dict[str, list[tuple[BenchmarkId, str]]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            for kind, other in row.optimisers.items():
                if other.status == "refused":
                    reasons = found.setdefault(kind, [])
                    reasons.append((BenchmarkId.of(record.workload, row), other.reason))
    for kind, rows in found.items():
        where = crossed([benchmark for benchmark, _ in rows])
        yield note(
            f"Refused with {kind}, which is not timed here, in {where}: {sentence(rows[0][1])}"
        )


def unrecorded(findings: Findings) -> Iterator[Caveat]:
    unknown = [one.title for one in entries(findings.compared_settings) if one.status == UNRECORDED]
    if unknown:
        yield note(f"Not read back in these records: {listing(unknown)}.")


def changed_settings(findings: Findings) -> Iterator[Caveat]:
    changing = {line.setting for line in findings.compared_settings if " | " in line.value}
    if changing:
        yield note(f"Settings that changed between replicates: {listing(sorted(changing))}.")

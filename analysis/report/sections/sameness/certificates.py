"""The same losses: the certificates, which prove that all contenders compute the same."""

from collections.abc import Iterable, Iterator

from analysis.data.certificate_faults import SINGLE
from analysis.data.results import BenchmarkId, grouped
from analysis.findings.fairness.certificate_steps import certified
from analysis.findings.fairness.certificates import FLOAT64, Certificates, furthest
from analysis.findings.fairness.certificates import CertificateLine as Line
from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, scientific, sentence
from analysis.report.figures.sameness.losses import losses
from analysis.report.figures.sameness.rounding import rounding
from analysis.report.layout import Blocks, Chapter, File, Paragraph, Rich, Section
from analysis.report.prose import DECLARED, contender, elsewhere, more, places, workload
from analysis.report.sections.measuring.method import span
from analysis.report.tables import Table
from workflows.records.schema import CertificateRow, steps_compared

Rows = list[tuple[Line, CertificateRow]]


def certificate_summary(findings: Findings) -> list[str]:
    """How certificates were made, how many agree, and the loss check."""
    machine = findings.machine
    records = machine.records.certificates
    if not records:
        return ["No certificate was recorded, so no pair could be compared."]
    certificates = Certificates(machine).found
    rows = [row for one, (_, row) in certificates.items() if machine.compares(one)]
    measured = [row for row in rows if row.status != "missing"]
    agreeing = [row for row in measured if row.status == "agrees" and row.precision == FLOAT64]
    others = {
        "differ as declared": sum(row.status == "declared" for row in measured),
        "are refused": sum(row.status == "refused" for row in measured),
        "failed": sum(row.status == "failed" for row in measured),
        SINGLE: sum(row.status == "agrees" for row in measured) - len(agreeing),
    }
    rest = [f"{number} {what}" for what, number in others.items() if number]
    made = (
        f"Before any timing, every contender trained {span(r.steps for r in records)} steps in "
        "float64, from the same weights on the same mini-batches."
    )
    whose = f"{contender_of(records[0].reference)} within {records[0].tolerance:g}"
    if machine.untrained:
        made = "Before any timing, all did the operations on the same vectors in float32."
        whose = "NumPy"
    return [
        made,
        f"Of {count(len(measured), 'certificate')}, {len(agreeing)} agree with {whose} (at most "
        f"{scientific(max(map(furthest, agreeing), default=0.0))} off)"
        f"{f'; {listing(rest)}' if rest else ''}.",
        *[text for text in [str(findings.loss_check)] if text and not machine.untrained],
    ]


def contender_of(name: str) -> str:
    """`PyTorch`, from a contender's name in the records."""
    framework, own, device, threads = name.split("/")
    return contender(BenchmarkId("", framework, own, device, int(threads)))


def certificate_table(findings: Findings) -> Table | None:
    """A row for each contender and workload; numbers of threads with one result share it."""
    found = {one: row for one, _, row in certified(findings.machine)}
    rows = grouped(
        ((line.id._replace(threads=0), line.status), (line, found[line.id]))
        for line in findings.machine.matched_rows(findings.certificate)
        if line.status != "missing"
    )
    if not rows:
        return None
    return Table(
        "Certificates: largest relative difference from the reference",
        [
            ("contender", False), ("on", False), ("result", False), ("with plain SGD", True),
            ("other optimisers", False), ("first gradient in float32", True),
        ],
        [
            [
                contender(own[0][0].id),
                crossed([(workload(line.id.workload), *elsewhere(line.id), line.id.threads)
                         for line, _ in own]),
                result(own),
                largest(end for line, _ in own for end in (
                    line.sgd_loss, line.sgd_weights, line.full_sgd_loss, line.full_sgd_weights)),
                optimisers(own),
                rounded(own),
            ]
            for own in rows.values()
        ],
        "certificate.csv",
        [*reasons(rows.values()), *declined(rows.values())],
    )  # fmt: skip


def result(own: Rows) -> str:
    line, row = own[0]
    if line.status == "agrees" and row.precision == FLOAT64:
        ends = (
            end
            for line, _ in own
            for end in (line.loss, line.weights, line.full_loss, line.full_weights, line.gradients)
        )
        return f"agrees to {largest(ends)}{steps_compared(row for _, row in own)}"
    if line.status == "agrees":
        return f"agrees, {SINGLE}"
    if line.status == "declared":
        return f"{DECLARED} declared: {line.reason.partition(':')[0]}"
    return line.status


def optimisers(own: Rows) -> str:
    """`agrees: sgd, momentum; declared: rmsprop`: the optimisers besides the workload's own."""
    found: dict[str, list[str]] = {}
    for kind in dict.fromkeys(kind for _, row in own for kind in row.optimisers):
        statuses = {row.optimisers[kind].status for _, row in own if kind in row.optimisers}
        worst = next(one for one in WORST if one in statuses)
        found.setdefault(worst, []).append(kind)
    return "; ".join(f"{status}: {', '.join(kinds)}" for status, kinds in found.items())


WORST = ("refused", "failed", "declared", "missing", "agrees")


def rounded(own: Rows) -> str:
    reduced = [line.reduced for line, _ in own if line.reduced]
    return f"{largest(line.rounding for line, _ in own)}{''.join(f' {r}' for r in reduced[:1])}"


def largest(values: Iterable[float | None]) -> str:
    """The largest value, in few digits; "" if there is none."""
    known = [value for value in values if value is not None]
    return scientific(max(known)) if known else ""


def reasons(groups: Iterable[Rows]) -> Iterator[tuple[str, str]]:
    """Why a certificate is refused or failed, with the likely cause, or was at first."""
    for own in groups:
        line = own[0][0]
        if line.status in ("refused", "failed"):
            texts = [sentence(text) for text in (line.reason, line.cause) if text]
            note = " ".join([f"{line.status}.", *texts])
        elif at_first := next((row.at_first for _, row in own if row.at_first), ""):
            note = f"{sentence(at_first)} {AT_FIRST}"
        else:
            continue
        yield places(one.id for one, _ in own), note


def declined(groups: Iterable[Rows]) -> Iterator[tuple[str, str]]:
    """Why a certificate lacks an optimiser that no workload uses."""
    for own in groups:
        found = {
            f"missing: {kind}. {sentence(one.reason)}": None
            for _, row in own
            for kind, one in row.optimisers.items()
            if one.status == "missing" and one.reason
        }
        if found:
            yield places(one.id for one, _ in own), " ".join(found)


AT_FIRST = "So it was at first, in a process that others had used, but not in one of its own."


def same_losses(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    if not findings.machine.records.certificates:
        return [Paragraph(" ".join(certificate_summary(findings)))]
    return [
        Paragraph(Rich(f"{' '.join(certificate_summary(findings))} {more('same-computation')}")),
        chapter.figure(losses),
        certificate_table(findings),
        chapter.figure(rounding),
        File("as_timed.csv") if findings.as_timed else None,
    ]


def inside(chapter: Chapter) -> str:
    found = certificate_summary(chapter.findings)
    return found[1] if len(found) > 1 else found[0]


SECTION = Section("The same losses", same_losses, inside=inside)

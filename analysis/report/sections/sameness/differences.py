"""What differs on purpose: what certificates declare, and each framework's own ways."""

from collections.abc import Iterable, Iterator

from analysis.data.results import BenchmarkId, grouped
from analysis.findings.fairness.audit import Entry, Where, entries
from analysis.findings.fairness.certificates import size
from analysis.findings.fairness.settings import STATED
from analysis.findings.findings import Findings
from analysis.format import count, listing, sentence, title
from analysis.report.layout import Blocks, Bullets, Chapter, Paragraph, Section
from analysis.report.prose import DECLARED, places, variant, workload
from analysis.report.tables import Table
from workflows.records.schema import CertificateRow

NAMED = 3  # settings on the closed section
STATES = (
    "A value marked (stated) stands in the source of the adapter, and nothing has read it back. "
    "Look there whether it holds."
)
Certified = tuple[BenchmarkId, CertificateRow]


def declarations(findings: Findings) -> list[str]:
    """Each declared deviation with its contenders, its reason and its size."""
    records = findings.machine.records.certificates
    rows = [
        (BenchmarkId.of(record.workload, row), row) for record in records for row in record.rows
    ]
    compared = [(one, row) for one, row in rows if findings.machine.compares(one)]
    return [*deviations(compared, max((r.declared_steps for r in records), default=0)),
            *otherwise_timed(compared)]  # fmt: skip


def deviations(rows: Iterable[Certified], steps: int) -> Iterator[str]:
    declared = grouped((row.reason, (one, row)) for one, row in rows if row.status == "declared")
    for reason, found in declared.items():
        effect = size([row for _, row in found], steps).removeprefix("loss ")
        exact = all(row.substituted for _, row in found)
        what = sentence(reason.partition(": ")[2] or reason)
        yield (
            f"{DECLARED} {places(one for one, _ in found)}: {what} "
            f"Relative effect on the loss: {effect}."
            + " With plain SGD instead, the two compute the same."
            * exact
        )


def otherwise_timed(rows: Iterable[Certified]) -> Iterator[str]:
    timed = grouped((row.timed, (one, row)) for one, row in rows if row.timed)
    for text, found in timed.items():
        where = places(one for one, _ in found)
        yield f"{DECLARED} {where}: the timed part differs, {sentence(text)}"


def difference_table(findings: Findings) -> Table | None:
    """Settings that frameworks handle in their own way, and any that differ by mistake."""
    found = [one for one in audited(findings) if one.status in ("mismatched", "declared")]
    if not found:
        return None
    frameworks = list(found[0].values)
    return Table(
        "What each framework does in its own way, as part of what is compared",
        [
            ("setting", False), *((title(name), False) for name in frameworks),
            ("why it matters", False),
        ],
        [
            [
                one.title + " (should be equal)" * (one.status == "mismatched"),
                *(one.values[name] for name in frameworks), one.matters,
            ]
            for one in found
        ],
        "settings.csv",
    )  # fmt: skip


def audited(findings: Findings) -> list[Entry]:
    """The audit, with places named for people."""
    return entries(findings.compared_settings, named)


def named(where: Where) -> Where:
    name, own, *rest = where
    return (workload(str(name)), variant(str(own)), *rest)


def differences(chapter: Chapter) -> Blocks:
    return [] if chapter.findings.machine.alone else [Bullets(declarations(chapter.findings))]


def own_ways(chapter: Chapter) -> Blocks:
    table = None if chapter.findings.machine.alone else difference_table(chapter.findings)
    marked = table and any(STATED in cell for row in table.rows for cell in row)
    return [table, Paragraph(STATES if marked else "", style="soft")]


def inside(chapter: Chapter) -> str:
    """The line on the closed section; "" leaves it open if a setting differs by mistake."""
    table = difference_table(chapter.findings)
    if table is None or any(one.status == "mismatched" for one in audited(chapter.findings)):
        return ""
    some = listing(row[0] for row in table.rows[:NAMED])
    return f"{count(len(table.rows), 'setting')} of each framework's own, such as {some}."


SECTION = Section("What differs on purpose", differences, in_markdown=True)
OWN = Section("How frameworks differ by design", own_ways, inside=inside, in_markdown=True)

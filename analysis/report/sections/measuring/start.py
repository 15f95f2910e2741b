"""What a start costs, and when it has paid off."""

from collections.abc import Mapping

from analysis.data.results import BenchmarkId, grouped
from analysis.findings.findings import Findings
from analysis.findings.start import StartLine, compiler_caches
from analysis.format import count, listing, percent, title
from analysis.report.figures.measuring.start import start as start_costs
from analysis.report.layout import Blocks, Chapter, Paragraph, Rich, Section
from analysis.report.prose import DECLARED, contender, more, place, spread, subject
from analysis.report.sections.comparing.comparisons import marks
from analysis.report.tables import Table, column, fixed

FIRST_ALONE = (
    "Only contests that began with the workload count, because a process does some things once."
)


def start_rows(findings: Findings) -> list[StartLine]:
    return findings.machine.matched_rows(findings.start)


def start_table(findings: Findings) -> Table | None:
    rows = start_rows(findings)
    if not rows:
        return None
    parts = [
        [row.imports.value, row.build.value, first_steps(row), row.total.value] for row in rows
    ]
    cells = [column(seconds, 2) for seconds in parts]
    marked = marks(findings)
    compared = any(row.ahead for row in rows)
    return Table(
        "Cost of a start: seconds lost before steady state",
        [
            ("on", False), ("contender", False), ("import", True), ("build", True),
            ("first steps", True), ("total", True),
            (f"{percent(findings.machine.study.confidence)} interval", True),
            *[(f"beats {rival(rows)}, start-up included", False)] * compared,
        ],
        [
            [
                place(row.id), contender(row.id) + f" {DECLARED}" * (row.id in marked), *seconds,
                interval(row),
                *[beats(row, rival(rows))] * compared,
            ]
            for row, seconds in zip(rows, cells, strict=True)
        ],
        "start.csv",
    )  # fmt: skip


def first_steps(row: StartLine) -> float | None:
    """What the mini-batches of the warm-up took beyond the steady median."""
    if row.compile.value is None:
        return None
    return row.compile.value + (row.excess.value or 0.0)


def interval(row: StartLine) -> str:
    _, low, high = row.total
    return "" if low is None or high is None else f"{fixed(low, 2)} to {fixed(high, 2)}"


def rival(rows: list[StartLine]) -> str:
    """The framework that all are compared with, or `the reference` if there are several."""
    found = {against(row) for row in rows if row.ahead}
    return next(iter(found)) if len(found) == 1 else "the reference"


def against(row: StartLine) -> str:
    base = row.id._replace(framework=row.reference, variant=row.reference_variant)
    return contender(base) if base.variant != row.id.variant else title(base.framework)


def beats(row: StartLine, known: str = "") -> str:
    """`after 93 steps (80 to 106)`, after the other side's name if it is not `known`."""
    if not row.ahead:
        return ""
    who = "" if against(row) == known else f"{against(row)}: "
    if row.steps.value is None:
        words = "from the first step" if row.ahead == "at once" else "never"
        return f"{who}{words}{doubt(row)}"
    start = "after" if row.ahead == "from" else "for the first"
    return f"{who}{start} {row.steps.value:,.0f} steps ({between(row)})"


def doubt(row: StartLine) -> str:
    """The other possibility that fits the data if a contender is ahead at once or never."""
    never = row.ahead == "never"
    _, least, most = row.steps
    if least is not None:
        low = f"{least:,.0f}"
        return f", or after {low} at least" if never else f", for {low} at least"
    if most is not None:
        high = f"{most:,.0f}"
        return f", or for {high} at most" if never else f", or after {high} at most"
    return " (one replicate, no interval)" if row.replicates < 2 else ""


def between(row: StartLine) -> str:
    _, low, high = row.steps
    if low is None:
        return "one replicate, no interval"
    return f"{low:,.0f} or more, if at all" if high is None else f"{low:,.0f} to {high:,.0f}"


def costs(findings: Findings) -> str:
    """Seconds of each framework's start; "" if imports were not timed."""
    totals = grouped(
        (title(row.id.framework), row.total.value)
        for row in start_rows(findings)
        if row.total.value is not None
    )
    if not totals:
        return ""
    parts = [
        f"{name} {spread(min(own), max(own))} s"
        for name, own in sorted(totals.items(), key=lambda item: min(item[1]))
    ]
    return f"A start costs {listing(parts)}."


def start_sentences(findings: Findings) -> list[str]:
    """What starts cost, and whether a slower start pays off, for each pair of frameworks."""
    pairs = grouped((sides(row), row) for row in start_rows(findings) if row.ahead)
    marked = marks(findings)
    found = [describe(*names, rows, marked) for names, rows in pairs.items()]
    return [text for text in (costs(findings), *found) if text]


def sides(row: StartLine) -> tuple[str, str]:
    """`TensorFlow` and `PyTorch`; with the variants if these differ."""
    own = subject(row.id) if row.reference_variant != row.id.variant else title(row.id.framework)
    return own, against(row)


def describe(one: str, other: str, rows: list[StartLine], marked: set[BenchmarkId]) -> str:
    """`Start-up included, JAX beats PyTorch from the first step in 2 and never in 2 of 4 ...`"""
    parts = []
    mark = f" {DECLARED}" * any(row.id in marked for row in rows)
    for outcome, words in (
        ("at once", "from the first step in {n}"),
        ("from", "only after {ends} steps in {n}"),
        ("until", "only for the first {ends} steps in {n}"),
        ("never", "never in {n}"),
    ):
        found = [row for row in rows if row.ahead == outcome]
        if found:
            steps = [row.steps.value for row in found if row.steps.value is not None]
            ends = spread(min(steps), max(steps)) if steps else ""
            parts.append(words.format(n=len(found), ends=ends))
    return (
        f"Start-up included, {one} beats {other} {listing(parts)} of "
        f"{count(len(rows), 'comparison')}{mark}."
    )


def caches(findings: Findings) -> str:
    """The state of compilers' caches when processes started."""
    found = compiler_caches(findings.machine)
    if not found:
        return ""
    said = [f"{name} was {state_of(states)}" for name, states in sorted(found.items())]
    warm = any(states["warm"] for states in found.values())
    return f"Of the compilers' caches, before each process started: {'; '.join(said)}." + (
        " Empty a warm one to see what a first start costs." * warm
    )


def state_of(states: Mapping[str, int]) -> str:
    """`warm`, or `cold in 1 of 5 processes and warm in 4` if they differ."""
    (first, n), *others = sorted(states.items())
    if not others:
        return first
    total = count(sum(states.values()), "process", "processes")
    return listing([f"{first} in {n} of {total}", *(f"{one} in {k}" for one, k in others)])


def start(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    found = start_sentences(findings)
    shared = any(contest.place for contest in findings.machine.records.contests)
    untimed = all(row.imports.value is None for row in findings.start)
    notes = [FIRST_ALONE] * shared + ["These records have no import times, so no totals."] * untimed
    table = start_table(findings)
    if table is None:
        return []
    return [
        Paragraph(" ".join(found)),
        chapter.figure(start_costs),
        table,
        Paragraph(caches(findings), style="soft"),
        Paragraph(Rich(" ".join([*notes, more("start-cost")])), style="soft"),
    ]


def inside(chapter: Chapter) -> str:
    return next(iter(start_sentences(chapter.findings)), "Import was not timed.")


SECTION = Section("Cost of a start", start, inside=inside)

"""Start-up cost: a table and a sentence."""

from analysis.findings.findings import Findings
from analysis.findings.start import StartLine
from analysis.format import count, listing, percent, three, title
from analysis.report.tables import Table, estimate


def start_table(findings: Findings) -> Table:
    return Table(
        "Cost of a start, in seconds: what is lost before steady state",
        [
            ("workload", False), ("on", False), ("contender", False), ("import", True),
            ("build", True), ("first step's excess", True), ("rest of warm-up", True),
            ("total", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("ahead", False),
        ],
        [
            [
                row.id.workload, row.id.on,
                row.id.who,
                *(three(part) for part in (row.import_s, row.build_s, row.compile_s)),
                three(row.excess_s), *estimate(row.total_s, row.total_low_s, row.total_high_s),
                ahead(row),
            ]
            for row in findings.machine.matched_rows(findings.start)
        ],
        notes(findings),
        "start.csv",
    )  # fmt: skip


def notes(findings: Findings) -> list[tuple[str, str]]:
    found = []
    if all(row.import_s is None for row in findings.start):
        found.append(("import", "was not timed in these records, so no total is told."))
    if any(contest.place for contest in findings.machine.records.contests):
        text = (
            "counts in the contests whose warm-up began with the workload, because what a process "
            "does only once falls on its first workload."
        )
        found.append(("a start", text))
    return found


def ahead(row: StartLine) -> str:
    """`of PyTorch from 210 mini-batches on (150 to 300)`."""
    if not row.ahead:
        return ""
    who = f"of {against(row)}"
    if row.steps is None:
        return f"{who} {row.ahead}{doubt(row)}"
    on = " on" if row.ahead == "from" else ""
    return f"{who} {row.ahead} {row.steps:,.0f} mini-batches{on} ({between(row)})"


def against(row: StartLine) -> str:
    other = f" {row.reference_variant}" * (row.reference_variant != row.id.variant)
    return f"{title(row.reference)}{other}"


def doubt(row: StartLine) -> str:
    """The other possibility that fits the data if a contender is ahead at once or never."""
    never = row.ahead == "never"
    if row.steps_low is not None:
        low = f"{row.steps_low:,.0f}"
        return f", or not before {low}" if never else f", for {low} at least"
    if row.steps_high is not None:
        high = f"{row.steps_high:,.0f}"
        return f", or until {high} at most" if never else f", or after {high} at most"
    return " (one replicate, no interval)" if row.replicates < 2 else ""


def between(row: StartLine) -> str:
    if row.steps_low is None:
        return "one replicate, no interval"
    if row.steps_high is None:
        return f"{row.steps_low:,.0f} or more, perhaps for ever"
    return f"{row.steps_low:,.0f} to {row.steps_high:,.0f}"


def start_summary(findings: Findings) -> str:
    """A sentence for each pair of frameworks; "" if no start was timed."""
    pairs: dict[tuple[str, str], list[StartLine]] = {}
    for row in findings.machine.matched_rows(findings.start):
        if row.ahead:
            pairs.setdefault(sides(row), []).append(row)
    return " ".join(describe(*names, rows) for names, rows in pairs.items())


def sides(row: StartLine) -> tuple[str, str]:
    """`TensorFlow` and `PyTorch`; with the variants if these differ."""
    own = f" {row.id.variant}" * (row.reference_variant != row.id.variant)
    return f"{title(row.id.framework)}{own}", against(row)


def describe(one: str, other: str, rows: list[StartLine]) -> str:
    parts = []
    for outcome, words in (
        ("at once", "ahead from the first mini-batch in {n}"),
        ("from", "ahead only after {ends} mini-batches in {n}"),
        ("until", "ahead only for the first {ends} mini-batches in {n}"),
        ("never", "never ahead in {n}"),
    ):
        found = [row for row in rows if row.ahead == outcome]
        if found:
            steps = [row.steps for row in found if row.steps is not None]
            ends = [f"{end:,.0f}" for end in (min(steps), max(steps))] if steps else []
            parts.append(words.format(n=len(found), ends=" to ".join(dict.fromkeys(ends))))
    return (
        f"Counting the start, {one} is {listing(parts)} of "
        f"{count(len(rows), 'comparison')} with {other}."
    )

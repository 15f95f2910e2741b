"""The ratios: a figure, a table, how precise they are, and how to read them."""

from analysis.data.certificate_faults import SINGLE
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison, PairLine
from analysis.findings.fairness.certificates import components, declares
from analysis.findings.findings import Findings
from analysis.findings.variants.steps import StepLine
from analysis.format import capital, count, listing, percent
from analysis.report.figures.comparing.ratios import ratios
from analysis.report.layout import Blocks, Chapter, Commands, Paragraph, Rich, Section
from analysis.report.prose import DECLARED, contender, more, pair, place, two
from analysis.report.sections.comparing.half_width import advice
from analysis.report.tables import Table, intervals
from analysis.stats.inference import of_equivalence

NAMED = 3  # opt-in variants; more are counted
FASTEST = (
    "Each ratio refers to the fastest contender of its workload, threads and variant, which the "
    "measurements chose. That makes nearly equal ratios slightly too large. To compare two "
    "frameworks by name, set `reference` to one of them."
)


def within_variants(findings: Findings) -> list[Comparison]:
    """The measured comparisons within one variant, if there are any; else all measured ones.
    Refused comparisons have no ratio."""
    rows = [row for row in findings.comparisons if row.estimate.verdict != "missing"]
    return [row for row in rows if row.id.variant == row.base.variant] or rows


def elsewhere(findings: Findings) -> str:
    """Which other comparisons there are, and which section has them."""
    shown = within_variants(findings)
    rest = [row for row in findings.comparisons if row.estimate.ratio and row not in shown]
    who = list(dict.fromkeys(contender(row.id) for row in rest))
    if not who:
        return ""
    named = "; ".join(who) if len(who) <= NAMED else count(len(who), "variant")
    return (
        f"{named}: {count(len(rest), 'more comparison')}, in All pairs. Variants compares those of "
        "one framework."
    )


def comparison_table(findings: Findings) -> Table:
    rows = within_variants(findings)
    cells = intervals(row.estimate.ends for row in rows)
    return Table(
        "Ratios of times per mini-batch",
        [
            ("on", False), ("who", False), ("ratio", True),
            (f"{percent(findings.machine.study.confidence)} interval", True),
            ("verdict", False), ("same?", False),
        ],
        [
            [
                place(row.id), pair(row.id, row.base) + f" {DECLARED}" * declared(row), *ratio,
                row.estimate.verdict, same(row.certificate, row.estimate.verdict),
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "comparisons.csv",
    )  # fmt: skip


def declared(row: Comparison | PairLine | StepLine) -> bool:
    """Whether the two sides differ in something that is declared."""
    return declares(row.certificate)


def marks(findings: Findings) -> set[BenchmarkId]:
    """The contenders that differ from what they are compared with in something declared."""
    return {row.id for row in findings.comparisons if declared(row)}


def same(certificate: str, verdict: str = "") -> str:
    """`yes, to 1.5e-14`; `† Adam` for a declared deviation; `no` without a certificate, or if timed
    turns or settings contradict it."""
    if verdict == "refused":
        return "no"
    if deviating := components(certificate):
        return f"{DECLARED} {listing(map(short, deviating))}"
    if SINGLE in certificate:
        return SINGLE
    return f"yes, {certificate.removeprefix('agrees ')}" if certificate else "no"


def short(component: str) -> str:
    """`optimiser.adam` as `Adam`."""
    kind, dot, name = component.partition(".")
    return capital(name) if dot else kind


def comparisons(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    table = comparison_table(findings)
    if not table.rows:
        return [Paragraph(nothing(findings))]
    found = advice(findings.machine, findings.half_widths)
    return [
        chapter.figure(ratios),
        table,
        Paragraph(elsewhere(findings), opening="Opt-in variants."),
        Paragraph(Rich(" ".join(found.sentences)), opening="How precise."),
        Commands([found.command] if found.command else []),
        Paragraph(reading(findings), opening="How to read it.", style="soft"),
    ]


def nothing(findings: Findings) -> str:
    """Why there is no ratio; "" for an A/A study, which has a section of its own."""
    if findings.machine.alone:
        return ""
    if not findings.comparisons:
        return "This study has one contender, so there is nothing to compare. Add another to it."
    return "No two contenders could be compared. What is missing says why."


def reading(findings: Findings) -> Rich:
    study = findings.machine.study
    rows = [row for row in findings.comparisons if row.estimate.ratio_low is not None]
    chance = 1 / (1 - study.confidence)
    sentences = [
        "A ratio is one contender's time per mini-batch over the other's, in the same contests: "
        "0.5 is twice as fast.",
        f"*Faster* and *slower*: the {percent(study.confidence)} confidence interval leaves out 1.",
        f"*Equivalent*: the {percent(of_equivalence(study.confidence))} interval is within "
        f"{percent(study.margin)} of equal.",
        "*Cannot tell*: neither.",
        *[f"By chance, about one row in {two(chance)} is wrong."] * bool(rows),
        "A framework named alone is written as in its tutorials.",
        *[f"{DECLARED} The two differ in something declared: see What differs on purpose."]
        * any(map(declared, findings.comparisons)),
        *[FASTEST] * study.fastest,
    ]
    return Rich(f"{' '.join(sentences)} {more('verdicts')}")


SECTION = Section("The ratios", comparisons, in_markdown=True)

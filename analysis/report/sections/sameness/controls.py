"""The self-test: controls, contenders that run a second time, so their true ratio is known."""

from collections.abc import Iterator

from analysis.data.results import grouped
from analysis.findings.controls import ControlLine, expected_misses, judged, missed
from analysis.findings.findings import Findings
from analysis.format import count, listing, percent, sentence
from analysis.report.layout import Blocks, Chapter, Paragraph, Rich, Section
from analysis.report.prose import contender, more, place, places, share, subject
from analysis.report.tables import Table, intervals

NONE = "This study has no self-test, so false alarms were not checked for. Add controls to it."


def control_summary(findings: Findings) -> str:
    """How many intervals contain the truth, and what was measured."""
    rows = findings.controls
    if not rows:
        return NONE
    return " ".join([*coverage(findings), *measured(rows)])


def coverage(findings: Findings) -> Iterator[str]:
    """`In 4 of 4 controls the interval contains the truth.`"""
    rows, confidence = findings.controls, findings.machine.study.confidence
    tried = judged(rows)
    if len(tried) < len(rows):
        yield f"{len(rows) - len(tried)} of {count(len(rows), 'control')} could not be judged."
    if tried:
        right = len(tried) - len(missed(rows))
        yield (
            f"In {right} of {count(len(tried), 'control')} the interval contains the truth. "
            f"Chance alone would miss about {expected_misses(rows, confidence):.2g}."
        )


def measured(rows: list[ControlLine]) -> Iterator[str]:
    """`PyTorch, tuned, ran a second time unchanged and slowed by 5 %. The measured ratios are
    within 3.2 % of the truth.`, if anything was measured."""
    known = [row for row in rows if row.ratio.value is not None]
    if known:
        slowed = [percent(one) for one in sorted({row.slowed_by for row in known}) if one]
        ways = ["unchanged"] * any(not row.slowed_by for row in known)
        ways += [f"slowed by {listing(slowed)}"] * bool(slowed)
        yield f"{originals(known)} ran a second time {' and '.join(ways)}."
        furthest = max(known, key=distance)
        yield f"The measured ratios are within {share(distance(furthest))} of the truth."


def distance(row: ControlLine) -> float:
    """How far the ratio is from the truth, in either direction."""
    ratio = (row.ratio.value or row.truth) / row.truth
    return max(ratio, 1 / ratio) - 1


def originals(rows: list[ControlLine]) -> str:
    """The contender that has controls, or the number of contenders that have."""
    found = {row.original._replace(workload="") for row in rows}
    return subject(*found) if len(found) == 1 else f"Each of {len(found)} contenders"


def control_table(findings: Findings) -> Table | None:
    if not findings.controls:
        return None
    rows = [row for row in findings.controls if row.ratio.value is not None]
    answers = {True: "yes", False: "no", None: ""}
    cells = intervals(row.ratio for row in rows)
    notes = grouped((row.reason, row) for row in findings.controls if row.reason)
    return Table(
        "Self-test: a contender's second run over its first",
        [
            ("on", False), ("contender", False), ("second run", False), ("truth", True),
            ("ratio", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("contains the truth", False),
        ],
        [
            [
                place(row.id), contender(row.original), how(row), f"{row.truth:.3f}", *ratio,
                answers[row.contains_truth],
            ]
            for row, ratio in zip(rows, cells, strict=True)
        ],
        "controls.csv",
        [
            (places(row.original for row in found), f"not judged. {sentence(reason)}")
            for reason, found in notes.items()
        ],
    )  # fmt: skip


def how(row: ControlLine) -> str:
    return f"slowed by {percent(row.slowed_by)}" if row.slowed_by else "unchanged"


def cost(findings: Findings) -> str:
    """The share of the contenders' time that controls took, if it was recorded."""
    took = [
        (one.took_s, bool(one.runs and not one.loader))
        for contest in findings.machine.records.contests
        for one in contest.contenders
        if one.took_s is not None
    ]
    total = sum(seconds for seconds, _ in took)
    if not total:
        return ""
    spent = sum(seconds for seconds, control in took if control) / total
    return f"The self-test took {share(spent)} of the contenders' time."


def self_test(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    if findings.machine.alone:
        return []
    text = control_summary(findings)
    if findings.controls:
        text = f"{text} {cost(findings)}".rstrip() + f" {more('self-test')}"
    return [Paragraph(Rich(text)), control_table(findings)]


def inside(chapter: Chapter) -> str:
    """The line on the closed section; "" leaves it open, because the self-test failed."""
    findings = chapter.findings
    if chapter.self_test_failed:
        return ""
    return next(coverage(findings), "This study has none.")


SECTION = Section(
    "Self-test",
    self_test,
    about="A control is a contender that runs a second time, unchanged (a twin) or slowed by a "
    "known share. So its true ratio is known.",
    inside=inside,
)

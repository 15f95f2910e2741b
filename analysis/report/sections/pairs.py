"""All pairs of contenders that differ in one thing, and where the variant, the number of threads
and the device matter most."""

import math

from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import alike, count, device, percent, sentence, three, title
from analysis.report.layout import Chapter, Folded, Paragraph, Parts, Section
from analysis.report.sections.comparisons import same
from analysis.report.tables import Table, absent, estimate

SUBJECTS = {"variant": "The variant", "threads": "The number of threads", "device": "The device"}
LEFT_OUT = (
    "Pairs of workloads",
    "in the file only, because steps of two workloads do different work.",
)


def pair_table(findings: Findings) -> Folded | None:
    rows = [row for row in findings.pairs if row.axis != "workload"]
    if not rows:
        return None
    confidence = percent(findings.machine.study.confidence)
    table = Table(
        "Ratios of times per mini-batch between contenders that differ in one thing",
        [
            ("differ in", False), ("workload", False), ("on", False), ("contender", False),
            ("ratio of", False), ("ratio", True), (f"{confidence} interval", True),
            ("verdict", False), ("same computation", False),
        ],
        [
            [
                row.axis, row.id.workload, row.id.on, row.id.who,
                f"{label(row.axis, getattr(row.id, row.axis))} to {label(row.axis, row.against)}",
                *estimate(*row.estimate.ends), row.estimate.verdict, same(row.certificate),
            ]
            for row in rows
            if row.estimate.ratio is not None
        ],
        [
            *absent(
                [row for row in rows if row.reason],
                lambda row: f"{row.axis}: {row.estimate.verdict}. {sentence(row.reason)}",
            ),
            *[LEFT_OUT] * (len(rows) < len(findings.pairs)),
        ],
        "pairs.csv",
    )  # fmt: skip
    return Folded("All pairs of contenders that differ in one thing", table)


def pair_summary(findings: Findings) -> str:
    """A sentence each for the largest difference between variants, thread counts and devices."""
    ms = {row.id: row.median_ms for row in findings.contenders}
    confidence = percent(findings.machine.study.confidence)
    sentences = []
    for axis, subject in SUBJECTS.items():
        decided = [
            row
            for row in findings.pairs
            if row.axis == axis and row.estimate.verdict in ("faster", "slower")
        ]
        if not decided:
            continue
        most = max(decided, key=effect)
        ratio, low, high = alike(*most.estimate.ends)
        sentences.append(
            f"{subject} matters most for {conditions(most)}: {three(ms[most.id])} ms per "
            f"mini-batch with {label(axis, getattr(most.id, axis))}, {three(ms[most.base])} ms "
            f"with {label(axis, most.against)} (ratio {ratio}, {confidence} interval {low} to "
            f"{high})."
        )
    return " ".join(sentences)


def effect(row: PairLine) -> float:
    return abs(math.log(row.estimate.ratio or 1.0))


def conditions(row: PairLine) -> str:
    """What both sides share: `PyTorch on mlp, CPU, 1 thread` for a pair of variants."""
    one = row.id
    who = title(one.framework) if row.axis == "variant" else one.who
    place = [one.workload, device(one.device), count(one.threads, "thread")]
    if row.axis in ("device", "threads"):
        del place[1 if row.axis == "device" else 2]
    return f"{who} on {', '.join(place)}"


def label(axis: str, value: str | int) -> str:
    if axis == "threads":
        return count(int(value), "thread")
    if axis == "device":
        return device(str(value))
    return title(str(value)) if axis == "framework" else str(value)


def pairs(chapter: Chapter) -> Parts:
    return [Paragraph(pair_summary(chapter.findings)), pair_table(chapter.findings)]


SECTION = Section("All pairs", pairs)

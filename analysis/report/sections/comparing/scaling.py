"""What more threads or another device gain, in sentences; the pairs are in a file."""

from collections.abc import Callable

from analysis.data.results import grouped
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings
from analysis.format import count, device
from analysis.report.layout import Blocks, Chapter, File, Paragraph, Section
from analysis.report.prose import spread, subject, two, workload
from analysis.report.sections.comparing.variants import along


def gain(row: PairLine) -> float:
    """How many times as fast this side of the pair is."""
    return 1 / (row.estimate.ratio or 1.0)


def thread_sentences(findings: Findings) -> list[str]:
    """Each number of threads compared with the fewest."""
    rows = along(findings, "threads")
    fewest = min((row.base.threads for row in rows), default=0)
    groups = grouped((row.id.threads, row) for row in rows if row.base.threads == fewest)
    return [
        f"With {count(threads, 'thread')}, steps are {gains(own)} times as fast as with {fewest}"
        f"{extremes(own)}."
        for threads, own in sorted(groups.items())
    ]


def device_sentences(findings: Findings) -> list[str]:
    """Each device compared with the processor, by workload."""
    groups = grouped(
        ((row.id.workload, row.id.device, row.base.device), row)
        for row in along(findings, "device")
    )
    return [
        f"On the {workload(name)}, steps on the {device(one)} are {gains(own)} times as fast as on "
        f"the {device(base)}{extremes(own)}."
        for (name, one, base), own in groups.items()
    ]


def gains(rows: list[PairLine]) -> str:
    return spread(min(map(gain, rows)), max(map(gain, rows)))


def extremes(rows: list[PairLine]) -> str:
    """The contenders that gain most and least, if their gains differ."""
    least, most = min(rows, key=gain), max(rows, key=gain)
    if two(gain(least)) == two(gain(most)):
        return ""
    return f". {most_of(most)} gains most, {most_of(least)} least"


def most_of(row: PairLine) -> str:
    return f"{subject(row.id)} on the {workload(row.id.workload)}"


def section(name: str, sentences: Callable[[Findings], list[str]]) -> Section:
    def blocks(chapter: Chapter) -> Blocks:
        found = sentences(chapter.findings)
        return [Paragraph(" ".join(found)), File("pairs.csv")] if found else []

    def inside(chapter: Chapter) -> str:
        first = next(iter(sentences(chapter.findings)), "")
        return f"{first.partition('. ')[0].rstrip('.')}."

    return Section(name, blocks, inside=inside)


THREADS = section("Threads", thread_sentences)
DEVICES = section("Devices", device_sentences)

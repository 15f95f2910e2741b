"""Where a step's time goes, by each framework's own profiler."""

from collections.abc import Sequence
from types import MappingProxyType

from analysis.data.results import BenchmarkId, grouped
from analysis.findings.findings import Findings
from analysis.findings.speed.operations import CONVOLUTION, Profile, profiles, unprofiled
from analysis.format import count, listing, sentence
from analysis.report.figures.measuring.operations import finding
from analysis.report.figures.measuring.operations import operations as figure
from analysis.report.layout import Blocks, Bullets, Chapter, Paragraph, Rich, Section
from analysis.report.prose import contender, more, place, places, share, spread, workload
from analysis.report.tables import Table, column
from frameworks.operations import (
    CATEGORIES,
    COPIES,
    DISPATCH,
    ELEMENTWISE,
    OPTIMISER,
    POOLING,
    PRODUCT,
    UNACCOUNTED,
)

WORDS = MappingProxyType(
    {
        PRODUCT: "matrix products",
        CONVOLUTION: "convolutions",
        POOLING: "pooling",
        ELEMENTWISE: "element-wise operations",
        OPTIMISER: "the optimiser",
        COPIES: "copies",
        DISPATCH: "dispatch",
        UNACCOUNTED: "operations without a category",
    }
)


def largest(found: Sequence[Profile]) -> list[str]:
    """A sentence for each contender, with its fewest threads: the largest parts of its steps."""
    own: dict[BenchmarkId, list[Profile]] = {}
    for profile in sorted(found, key=lambda one: one.id.threads):
        key = profile.id._replace(workload="", threads=0)
        if profile.id.workload not in [one.id.workload for one in own.get(key, [])]:
            own.setdefault(key, []).append(profile)
    return [
        f"{contender(profiled[0].id)}: the largest part of a step is "
        f"{listing(part(one) for one in profiled)}, with "
        f"{count(profiled[0].id.threads, 'thread')}."
        for profiled in own.values()
    ]


def part(profile: Profile) -> str:
    """`pooling on the MNIST CNN (58 %)`"""
    category, size = profile.largest
    return f"{WORDS[category]} on the {workload(profile.id.workload)} ({share(size)})"


def operation_table(found: Sequence[Profile], without: dict[BenchmarkId, str]) -> Table:
    names = [name for name in CATEGORIES if any(name in profile.shares for profile in found)]
    times = column([profile.ms for profile in found])
    reasons = grouped((reason, one) for one, reason in without.items())
    return Table(
        "Shares of a step under each framework's own profiler, which slows it",
        [("on", False), ("contender", False), ("profiled ms", True),
         *((name, True) for name in names)],
        [
            [
                place(profile.id), contender(profile.id), ms,
                *(cell(profile.shares.get(name)) for name in names),
            ]
            for profile, ms in zip(found, times, strict=True)
        ],
        "operations.csv",
        [(places(ones), sentence(reason)) for reason, ones in reasons.items()],
    )  # fmt: skip


def cell(size: float | None) -> str:
    return share(size) if size else ""


def slowed(findings: Findings, found: Sequence[Profile]) -> str:
    medians = {row.id: row.time.value for row in findings.contenders if row.time.value}
    times = [profile.ms / medians[profile.id] for profile in found if profile.id in medians]
    if not times:
        return ""
    return (
        f"Under the profilers, steps took {spread(min(times), max(times))} times their median "
        "time. "
    )


def operations(chapter: Chapter) -> Blocks:
    found, without = profiles(chapter.findings), unprofiled(chapter.findings.machine)
    if not found:
        return [Paragraph(f"{sentence(reason)}") for reason in dict.fromkeys(without.values())]
    return [
        Bullets(largest(found)),
        chapter.figure(figure),
        operation_table(found, without),
        Paragraph(
            Rich(f"{slowed(chapter.findings, found)}{ABOUT} {more('by-operation')}"), style="soft"
        ),
    ]


def inside(chapter: Chapter) -> str:
    return finding(profiles(chapter.findings)) or "No contender has a profile."


ABOUT = (
    "A profiler slows a step, and the parts not equally. No ratio rests on it: these steps ran "
    "once, after everything that is compared."
)
SECTION = Section("By operation", operations, inside=inside, in_markdown=True)

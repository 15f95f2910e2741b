"""Gaps in the study: contenders that were not measured, pairs that were not compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.data.availability import Availability
from analysis.data.results import BenchmarkId, grouped
from analysis.findings.comparisons import Comparison


@dataclass(frozen=True)
class MissingLine:
    """A row of missing.csv. `status`: missing or failed; refused or no steady state if it was
    measured but not compared. `replicates` are the affected ones, or "all"."""

    id: BenchmarkId
    status: str
    replicates: str
    reason: str


def missing_lines(
    availability: Mapping[BenchmarkId, Availability], pairs: Iterable[Comparison]
) -> list[MissingLine]:
    lines = []
    for benchmark, own in availability.items():
        causes = grouped((cause, replicate) for replicate, cause in sorted(own.absent.items()))
        for (status, reason), replicates in causes.items():
            everything = not own.ok and len(causes) == 1
            numbers = "all" if everything else " ".join(map(str, replicates))
            lines.append(MissingLine(benchmark, status, numbers, reason))
    return lines + [
        MissingLine(
            pair.id,
            pair.estimate.verdict,
            "all",
            f"not compared with {with_whom(pair)}: {pair.reason}",
        )
        for pair in pairs
        if pair.estimate.verdict in ("refused", "no steady state")
    ]


def with_whom(pair: Comparison) -> str:
    """`pytorch`, or `pytorch/default` if that is another variant."""
    other = pair.base.variant != pair.id.variant
    return f"{pair.base.framework}/{pair.base.variant}" if other else pair.base.framework

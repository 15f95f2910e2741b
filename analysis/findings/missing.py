"""What is not there: contenders that were not measured, pairs that were not compared."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.data.availability import Availability
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison
from analysis.format import crossed, listing, sentence


@dataclass(frozen=True)
class MissingLine:
    """A row of missing.csv. `status`: missing, failed, or refused and no steady state
    (measured, not compared).
    `replicates` are the affected ones, or "all"."""

    machine: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    status: str
    replicates: str
    dataset: str
    reason: str


def missing_lines(
    machine: Machine, roster: dict[BenchmarkId, Availability], pairs: Iterable[Comparison]
) -> list[MissingLine]:
    lines = []
    for seat, attendance in roster.items():
        causes: dict[tuple[str, str], list[int]] = {}
        for replicate, cause in sorted(attendance.absent.items()):
            causes.setdefault(cause, []).append(replicate)
        for (status, reason), replicates in causes.items():
            everything = not attendance.ok and len(causes) == 1
            lines.append(
                MissingLine(
                    machine=machine.name,
                    **seat._asdict(),
                    status=status,
                    replicates="all" if everything else " ".join(map(str, replicates)),
                    dataset=machine.dataset(seat.workload),
                    reason=reason,
                )
            )
    return lines + [
        MissingLine(
            machine=machine.name,
            workload=pair.workload,
            framework=pair.framework,
            variant=pair.variant,
            device=pair.device,
            threads=pair.threads,
            status=pair.verdict,
            replicates="all",
            dataset=pair.dataset,
            reason=f"not compared with {with_whom(pair)}: {pair.reason}",
        )
        for pair in pairs
        if pair.verdict in ("refused", "no steady state")
    ]


def with_whom(pair: Comparison) -> str:
    """`pytorch`, or `pytorch/default` where that is another variant."""
    other = pair.reference_variant != pair.variant
    return f"{pair.reference}/{pair.reference_variant}" if other else pair.reference


def grouped(lines: Iterable[MissingLine]) -> list[tuple[str, str]]:
    """One line per cause: who, in few words, and why."""
    groups: dict[tuple[str, str, str], list[BenchmarkId]] = {}
    for line in lines:
        seat = BenchmarkId(line.workload, line.framework, line.variant, line.device, line.threads)
        groups.setdefault((line.status, line.replicates, line.reason), []).append(seat)
    found = []
    for (status, replicates, reason), seats in groups.items():
        numbers = replicates.split()
        when = (
            ""
            if replicates == "all"
            else f" in replicate{'s' * (len(numbers) > 1)} " + (listing(numbers))
        )
        found.append((crossed(seats), f"{status}{when}. {sentence(reason)}"))
    return found

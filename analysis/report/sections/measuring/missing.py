"""What is missing: what was not measured or not compared, and why."""

from collections.abc import Mapping, Sequence

from analysis.data.results import BenchmarkId, grouped
from analysis.findings.findings import Findings
from analysis.findings.missing import MissingLine
from analysis.findings.speed.energy import reasons_without_energy
from analysis.format import count, device, listing, sentence
from analysis.report.layout import Blocks, Bullets, Chapter, File, Paragraph, Section
from analysis.report.prose import places

NOTHING = "Nothing: every contender was measured in every replicate."


def gaps(findings: Findings) -> list[str]:
    """A line for each device that no contender could use, for each other cause, and for each reason
    why energy was not measured."""
    absent = unused(findings)
    found = [without(findings, name, lines) for name, lines in absent.items()]
    groups = grouped(
        ((line.status, line.replicates, line.reason), line.id)
        for line in findings.missing
        if line.id.device not in absent
    )
    found += [gap(*cause, who) for cause, who in groups.items()]
    return found + reasons_without_energy(findings)


def unused(findings: Findings) -> Mapping[str, list[MissingLine]]:
    """The gaps of each device on which nothing could run, by device."""
    tried = {one.device for one in findings.availability}
    used = {one.device for one, own in findings.availability.items() if own.status != "missing"}
    return {
        name: [line for line in findings.missing if line.id.device == name]
        for name in sorted(tried - used)
    }


def without(findings: Findings, name: str, lines: Sequence[MissingLine]) -> str:
    """`No GPU on this machine: 12 comparisons left out.`, and the frameworks' messages."""
    lost = sum(row.id.device == name for row in findings.comparisons)
    what = count(lost, "comparison") if lost else count(len(lines), "contender")
    words = "; ".join(dict.fromkeys(line.reason for line in lines))
    return f"No {device(name)} on this machine: {what} left out. {sentence(words)}"


def gap(status: str, replicates: str, reason: str, who: Sequence[BenchmarkId]) -> str:
    numbers = replicates.split()
    when = f" in replicate{'s' * (len(numbers) > 1)} {listing(numbers)}"
    return f"{places(who)}: {status}{when * (replicates != 'all')}. {sentence(reason)}"


def missing(chapter: Chapter) -> Blocks:
    found = gaps(chapter.findings)
    return [Bullets(found), File("missing.csv")] if found else [Paragraph(NOTHING)]


def inside(chapter: Chapter) -> str:
    found = gaps(chapter.findings)
    if not found:
        return NOTHING
    more = len(found) - 1
    others = f" {count(more, 'other gap')}." if more else ""
    return f"{found[0].partition('. ')[0].rstrip('.')}.{others}"


SECTION = Section("What is missing", missing, inside=inside)

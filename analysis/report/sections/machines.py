"""Compares several machines: their own speeds, each ratio on each machine, and what differs.
Nothing is pooled over machines."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean

from analysis.data.occasions import processor, when
from analysis.data.results import grouped
from analysis.data.series import versions
from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.settings import changed_settings
from analysis.findings.findings import Findings
from analysis.findings.speed.machine_speed import NAMES, SPEED
from analysis.format import alike, count, listing, percent, runs, title
from analysis.report.layout import Block, Blocks, Bullets, Chapter, Paragraph, Rich, StudySection
from analysis.report.prose import DECLARED, pair, place
from analysis.report.sections.comparing.comparisons import declared
from analysis.report.tables import Table, estimate

Rows = Mapping[int, Comparison]  # of one comparison, by the number of the machine
ABSENT = "\u2013"
UNITS = {"product": "GFLOP/s", "stream": "GB/s"}


def machines(chapters: Sequence[Chapter]) -> Blocks:
    if len(chapters) == 1:
        return []
    found = {number: chapter.findings for number, chapter in enumerate(chapters, 1)}
    held: dict[str, dict[str, Rows]] = {}
    for rows in compared(found):
        one = next(iter(rows.values()))
        held.setdefault(place(one.id), {})[pair(one.id, one.base)] = rows
    tables: list[Block] = [ratios(found, where, own) for where, own in held.items()]
    shared = [rows for own in held.values() for rows in own.values() if len(rows) > 1]
    return [
        Bullets([*ordered(shared), *apart(shared), *unlike(found)]),
        overview(found),
        *tables,
        Paragraph(Rich(ABOUT), style="soft"),
    ]


def compared(found: Mapping[int, Findings]) -> list[Rows]:
    """Each comparison on the machines on which it has a ratio."""
    rows: dict[tuple[object, object], dict[int, Comparison]] = {}
    for number, findings in found.items():
        for row in findings.comparisons:
            if row.estimate.ratio is not None:
                rows.setdefault((row.id, row.base), {})[number] = row
    return [*rows.values()]


def overview(found: Mapping[int, Findings]) -> Table:
    """The machines with their own speeds, by number of threads."""
    speeds = {number: own_speeds(findings) for number, findings in found.items()}
    kinds = sorted({kind for own in speeds.values() for kind in own})
    return Table(
        "The machines, and how fast they are by themselves",
        [
            ("no.", True), ("machine", False), ("measured", False), ("processor", False),
            *((f"{NAMES[kind]}, {count(threads, 'thread')}, {UNITS[kind]}", True)
              for kind, threads in kinds),
        ],
        [
            [
                str(number), findings.machine.name, when(findings.machine),
                str(processor(findings.machine)),
                *(alike(speeds[number].get(kind))[0] or ABSENT for kind in kinds),
            ]
            for number, findings in found.items()
        ],
        "machine_speed.csv" if kinds else "machine.csv",
    )  # fmt: skip


def own_speeds(findings: Findings) -> dict[tuple[str, int], float]:
    """By computation and number of threads, over all workloads and replicates; empty for records
    without the machine's own turns."""
    speeds = grouped(
        ((line.variant, line.threads), line.speed)
        for line in SPEED.of(findings)
        if line.replicate is not None and line.speed and line.variant in NAMES
    )
    return {kind: geometric_mean(own) for kind, own in speeds.items()}


def ratios(found: Mapping[int, Findings], where: str, held: Mapping[str, Rows]) -> Table:
    """A row for each machine, a column for each pair: the ratio with its interval there."""
    confidence = percent(next(iter(found.values())).machine.study.confidence)
    return Table(
        f"{where}: ratios of times, each with its {confidence} interval",
        [("machine", True), *((who, True) for who in held)],
        [[str(number), *(cell(rows.get(number)) for rows in held.values())] for number in found],
        "comparisons.csv",
    )


def cell(row: Comparison | None) -> str:
    if row is None:
        return ABSENT
    middle, interval = estimate(*row.estimate.ends)
    return middle + f" ({interval})" * bool(interval) + f" {DECLARED}" * declared(row)


def ordered(shared: Sequence[Rows]) -> Iterator[str]:
    """The comparisons with opposite verdicts on two machines."""
    turned = False
    for rows in shared:
        faster, slower = (
            [number for number, row in rows.items() if row.estimate.verdict == verdict]
            for verdict in ("faster", "slower")
        )
        if faster and slower:
            turned = True
            one = next(iter(rows.values()))
            mark = f" {DECLARED}" * any(map(declared, rows.values()))
            yield (
                f"{pair(one.id, one.base)}{mark} on the {place(one.id)}: faster on "
                f"{named(faster)}, slower on {named(slower)}."
            )
    if shared and not turned:
        yield "No comparison has opposite verdicts on two machines."


def apart(shared: Sequence[Rows]) -> Iterator[str]:
    """In how many comparisons the intervals of two machines do not overlap."""
    intervals = [
        [(low, high) for row in rows.values()
         if (low := row.estimate.ratio_low) and (high := row.estimate.ratio_high)]
        for rows in shared
    ]  # fmt: skip
    known = [own for own in intervals if len(own) > 1]
    if known:
        number = sum(max(low for low, _ in own) > min(high for _, high in own) for own in known)
        yield (
            f"In {number or 'none'} of {count(len(known), 'comparison')}, the intervals of two "
            "machines do not overlap."
        )


def unlike(found: Mapping[int, Findings]) -> Iterator[str]:
    """Settings, versions and margins that are not the same on all machines."""
    numbers = {findings.machine.name: number for number, findings in found.items()}
    for (framework, setting), values in changed_settings([*found.values()]).items():
        held = {value: [numbers[one.machine.name] for one in own] for value, own in values.items()}
        yield f"{title(framework)}'s {setting} is {spread(held)}."
    asked: dict[str, dict[str, list[int]]] = {}
    for number, findings in found.items():
        own = {f"version of {name}": both for name, both in versions(findings.machine).items()}
        own["margin of equivalence"] = [percent(findings.machine.study.margin)]
        for name, values_of in own.items():
            asked.setdefault(name, {}).setdefault(" and ".join(values_of), []).append(number)
    yield from (f"The {name} is {spread(by)}." for name, by in asked.items() if len(by) > 1)


def spread(held: Mapping[str, Sequence[int]]) -> str:
    """`oneDNN on machine 1 and Eigen on machines 2 to 4`"""
    return listing(f"{value} on {named(numbers)}" for value, numbers in held.items())


def named(numbers: Sequence[int]) -> str:
    return f"machine{'s' * (len(numbers) > 1)} {runs(numbers)}"


ABOUT = (
    "Nothing is pooled over machines. An interval is about one hour on one machine, so the hour "
    "may be part of what differs: [how far ratios move](../../docs/repeatability.md). A name that "
    "ends with a start, or with its date, is one start of a machine, which may be on another host."
)
SECTION = StudySection("Between machines", machines, first=True)

"""Who is fastest where, and what the others take: sentences from pairs of one variant."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.findings.comparisons import PairLine
from analysis.findings.fairness.certificates import components
from analysis.findings.findings import Findings
from analysis.findings.matrix import Column, column
from analysis.format import count, device, listing, percent, title
from analysis.report.prose import DECLARED, NEAR, spread, two, workload
from analysis.stats.inference import Estimate
from frameworks.device import HOST


@dataclass(frozen=True)
class Rival:
    """What another framework takes, over the fastest of a column."""

    framework: str
    estimate: Estimate
    declared: bool

    @property
    def slower(self) -> bool:
        return self.estimate.verdict == "slower"

    @property
    def ratio(self) -> float:
        return self.estimate.ratio or 1.0


@dataclass(frozen=True)
class Race:
    """One column of one variant: the framework with the shortest time, and all others."""

    column: Column
    winner: str
    rivals: tuple[Rival, ...]

    @property
    def level(self) -> list[str]:
        """The winner, and who was not shown to be slower."""
        return [self.winner, *(one.framework for one in self.rivals if not one.slower)]


def races(findings: Findings, variant: str) -> list[Race]:
    """The columns in which two frameworks or more have a ratio in this variant."""
    pairs = [
        row
        for row in findings.pairs
        if row.axis == "framework" and row.id.variant == variant and row.estimate.ratio is not None
    ]
    ms = {row.id: row.median_ms or 0.0 for row in findings.contenders}
    found = []
    for place in dict.fromkeys(column(row.id) for row in pairs):
        own = [row for row in pairs if column(row.id) == place]
        sides = sorted({side for row in own for side in (row.id, row.base)}, key=lambda s: ms[s])
        rivals = tuple(
            rival
            for other in sides[1:]
            for row in own
            if (rival := against(row, sides[0].framework, other.framework))
        )
        found.append(Race(place, sides[0].framework, rivals))
    return found


def against(row: PairLine, winner: str, other: str) -> Rival | None:
    """The other framework over the winner, if this is their pair."""
    marked = bool(components(row.certificate))
    if (row.id.framework, row.base.framework) == (other, winner):
        return Rival(other, row.estimate, marked)
    if (row.id.framework, row.base.framework) == (winner, other):
        return Rival(other, row.estimate.inverse, marked)
    return None


def fastest_and_others(found: Sequence[Race]) -> list[str]:
    """Who is fastest on which workloads, then what each slower framework takes there."""
    groups: dict[frozenset[str], list[Race]] = {}
    for race in found:
        groups.setdefault(frozenset(race.level), []).append(race)
    lines = []
    for own in groups.values():
        names = own[0].level
        where = f" {places(own, found)}" if len(groups) > 1 else ""
        verb = "is" if len(names) == 1 else "are"
        level = ", without a significant difference" * (len(names) > 1)
        lines.append(f"{listing(map(title, names))} {verb} fastest{where}{mark(own)}{level}.")
        lines += followers(own)
    return lines


def followers(own: Sequence[Race]) -> list[str]:
    """`PyTorch takes 1.3 times as long on the MLP and 1.7 to 2.1 times on the MNIST CNN.`"""
    slower: dict[str, dict[str, list[float]]] = {}
    for race in own:
        for one in race.rivals:
            if one.slower:
                places_of = slower.setdefault(one.framework, {})
                places_of.setdefault(race.column.workload, []).append(one.ratio)
    lines = []
    for name, by_workload in slower.items():
        parts = [
            (takes(ratios), f" on the {workload(place)}" * (len(by_workload) > 1))
            for place, ratios in by_workload.items()
        ]
        lines.append(f"{title(name)} {joined(parts)}.")
    return lines


def joined(parts: Sequence[tuple[str, str]]) -> str:
    """The parts in one sentence, with the verb once if all have it."""
    words = [f"{text}{where}" for text, where in parts]
    if len(words) > 1 and all(word.startswith("takes ") for word in words):
        words[1:] = [word.removeprefix("takes ") for word in words[1:]]
    return listing(words)


def takes(ratios: Sequence[float]) -> str:
    """`takes 1.7 to 2.1 times as long`; percent near 1."""
    low, high = min(ratios), max(ratios)
    if high < NEAR:
        ends = dict.fromkeys(percent(float(f"{one - 1:.2g}")).removesuffix(" %")
                             for one in (low, high))  # fmt: skip
        return f"takes {' to '.join(ends)} % longer"
    return f"takes {spread(low, high)} times as long"


def mark(found: Sequence[Race]) -> str:
    """† if any of these ratios rests on a declared deviation."""
    return f" {DECLARED}" * any(one.declared for race in found for one in race.rivals)


def places(own: Sequence[Race], all_races: Sequence[Race]) -> str:
    """`on the MLP`, `on the MNIST CNN with 1 thread`."""
    texts = []
    for name in dict.fromkeys(race.column.workload for race in own):
        mine = [race.column for race in own if race.column.workload == name]
        every = [race.column for race in all_races if race.column.workload == name]
        text = f"on the {workload(name)}"
        if len(mine) < len(every):
            text += f" with {listing(map(condition, mine))}"
        texts.append(text)
    return listing(texts)


def condition(column: Column) -> str:
    threads = count(column.threads, "thread")
    return threads if column.device == HOST.name else f"{device(column.device)}, {threads}"


def milliseconds(value: float) -> str:
    """Whole milliseconds from 10 on, else two digits: prose, not a table."""
    return f"{value:,.0f}" if value >= 10 else two(value)

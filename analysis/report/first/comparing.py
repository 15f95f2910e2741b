"""Which framework is fastest where, and how much longer the others take: sentences from pairs of
one variant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.data.results import Column, grouped
from analysis.findings.comparisons import PairLine
from analysis.findings.fairness.certificates import declares
from analysis.findings.findings import Findings
from analysis.format import listing, percent, title
from analysis.report.prose import DECLARED, NEAR, condition, spread, two, workload
from analysis.stats.inference import Estimate

SENTENCES = 4  # about one variant; if there are more, they are summed up
NAMED = 3  # frameworks in a summary, or groups of columns
PLACES = 2  # workloads in one sentence, with a number for each
ROOM = 14  # words of a sentence for the columns that it is about


@dataclass(frozen=True)
class Rival:
    """Another framework's time over that of the fastest of a column."""

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
        """The winner, and the frameworks whose verdict is not `slower`."""
        return [self.winner, *(one.framework for one in self.rivals if not one.slower)]


def races(findings: Findings, variant: str) -> list[Race]:
    """The columns in which two frameworks or more have a ratio in this variant."""
    pairs = [
        row
        for row in findings.pairs
        if row.axis == "framework" and row.id.variant == variant and row.estimate.ratio is not None
    ]
    ms = {row.id: row.time.value or 0.0 for row in findings.contenders}
    found = []
    for place in dict.fromkeys(row.id.column for row in pairs):
        own = [row for row in pairs if row.id.column == place]
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
    marked = declares(row.certificate)
    if (row.id.framework, row.base.framework) == (other, winner):
        return Rival(other, row.estimate, marked)
    if (row.id.framework, row.base.framework) == (winner, other):
        return Rival(other, row.estimate.inverse, marked)
    return None


def fastest_and_others(found: Sequence[Race]) -> list[str]:
    """Who is fastest on which workloads, then how much longer the others take there. If that needs
    many sentences: how much longer each framework takes wherever it is slower."""
    groups = grouped((frozenset(race.level), race) for race in found)
    first = [fastest(own, found) for own in groups.values()]
    then = [followers(own) for own in groups.values()]
    if len(first) + sum(map(len, then)) <= SENTENCES:
        return [line for who, others in zip(first, then, strict=True) for line in (who, *others)]
    return [*(first if len(first) <= NAMED else [tally(found)]), *summed_up(found)]


def fastest(own: Sequence[Race], every: Sequence[Race]) -> str:
    """`TensorFlow is fastest on the MLP †.` for the races in which the same frameworks lead."""
    names = own[0].level
    where = f" {places(own, every)}" if len(own) < len(every) else ""
    verb = "is" if len(names) == 1 else "are"
    level = ", equivalent or without a significant difference" * (len(names) > 1)
    marked = mark(one for race in own for one in race.rivals)
    return f"{listing(map(title, names))} {verb} fastest{where}{marked}{level}."


def tally(found: Sequence[Race]) -> str:
    """In how many columns each framework leads, if it leads in any."""
    leads: dict[str, int] = {}
    for race in found:
        for name in race.level:
            leads[name] = leads.get(name, 0) + 1
    ordered = sorted(leads.items(), key=lambda item: -item[1])
    parts = listing(f"{title(name)} in {number}" for name, number in ordered)
    marked = mark(one for race in found for one in race.rivals)
    how = "Fastest, or equivalent to it, or not significantly slower"
    return f"{how}, in {len(found)} columns: {parts}{marked}."


def followers(own: Sequence[Race]) -> list[str]:
    """`PyTorch takes 1.3 times as long on the MLP and 2.1 or 1.7 times as long on the MNIST CNN (1
    or 2 threads).`"""
    lines = []
    for name, slower in behind(own).items():
        held = grouped((place.workload, (place, one)) for place, one in slower)
        if len(held) > PLACES:
            held = {"": slower}
        parts = [
            takes([one.ratio for _, one in found], twofold(found))
            + f" on the {workload(where)}" * (len(held) > 1)
            for where, found in held.items()
        ]
        if all(part.startswith("takes ") for part in parts):
            parts[1:] = [part.removeprefix("takes ") for part in parts[1:]]
        both = next(filter(None, map(twofold, held.values())), "")
        ends = f" ({both})" * bool(both)
        lines.append(f"{title(name)} {listing(parts)}{ends}{mark(one for _, one in slower)}.")
    return lines


def twofold(found: Sequence[tuple[Column, Rival]]) -> str:
    """`1 or 2 threads` if a workload has two columns whose ratios read differently."""
    columns = [place for place, _ in found]
    digits = {two(one.ratio) for _, one in found}
    if len(columns) != 2 or len(digits) != 2 or not all(one.on_host for one in columns):
        return ""
    if columns[0].workload != columns[1].workload or min(one.ratio for _, one in found) < NEAR:
        return ""
    return f"{columns[0].threads} or {condition(columns[1])}"


def summed_up(found: Sequence[Race]) -> list[str]:
    """`Where slower, PyTorch takes 1.3 to 2.1 times as long and JAX 3.5 to 4.2 times as long.`"""
    slower = behind(found)
    if not slower:
        return []
    marked = mark(one for own in slower.values() for _, one in own)
    if len(slower) > NAMED:
        ratios = [one.ratio for own in slower.values() for _, one in own]
        return [f"Where slower, a framework {takes(ratios)}{marked}."]
    parts = [f"{title(name)} {takes([one.ratio for _, one in own])}"
             for name, own in slower.items()]  # fmt: skip
    parts[1:] = [part.replace(" takes ", " ") for part in parts[1:]]
    return [f"Where slower, {listing(parts)}{marked}."]


def behind(found: Iterable[Race]) -> dict[str, list[tuple[Column, Rival]]]:
    """By framework: where it is slower than the fastest, and by how much."""
    return grouped(
        (one.framework, (race.column, one)) for race in found for one in race.rivals if one.slower
    )


def takes(ratios: Sequence[float], each: str = "") -> str:
    """`takes 1.7 to 2.1 times as long`; percent near 1. `each`: in their order, `2.1 or 1.7`."""
    if each:
        return f"takes {' or '.join(map(two, ratios))} times as long"
    low, high = min(ratios), max(ratios)
    if low >= 1 and high < NEAR:
        ends = dict.fromkeys(percent(float(f"{one - 1:.2g}")).removesuffix(" %")
                             for one in (low, high))  # fmt: skip
        return f"takes {' to '.join(ends)} % longer"
    return f"takes {spread(low, high)} times as long"


def mark(found: Iterable[Rival]) -> str:
    """† if any of these ratios rests on a declared deviation."""
    return f" {DECLARED}" * any(one.declared for one in found)


def places(own: Sequence[Race], every: Sequence[Race]) -> str:
    """`on the MLP`, `on the MNIST CNN with 1 thread`, or the number of columns if that is long."""
    texts = []
    for name in dict.fromkeys(race.column.workload for race in own):
        mine = [race.column for race in own if race.column.workload == name]
        there = [race.column for race in every if race.column.workload == name]
        text = f"on the {workload(name)}"
        if len(mine) < len(there):
            text += f" with {listing(map(condition, mine))}"
        texts.append(text)
    found = listing(texts)
    return found if len(found.split()) <= ROOM else f"in {len(own)} of {len(every)} columns"


def milliseconds(value: float) -> str:
    """Whole milliseconds from 10 on, else two digits: prose, not a table."""
    return f"{value:,.0f}" if value >= 10 else two(value)

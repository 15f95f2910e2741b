"""How far frameworks, and processors and GPUs, were apart in 2016, and how far they are today."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from analysis.data.results import grouped
from analysis.format import count, title
from analysis.literature.dots import HEIGHT, interval_on, legend, ratios_on
from analysis.literature.published.table7 import (
    CPUS,
    Over,
    networks,
    processor_over,
    readable,
    spreads,
)
from analysis.literature.published.then import BOTH, GPU_OF_2016
from analysis.literature.studies import KnownRatio, MeasuredRatio, Pair, StudyTables
from analysis.literature.today import NO_EFFECT, NOW, THEN, Effects, certified
from analysis.report.figures.style import PAPER, Figure, canvas
from analysis.report.prose import DECLARED, spread, two
from frameworks.device import GPU, HOST


@dataclass(frozen=True)
class Apart:
    """A row of spread.csv: the slowest framework over the fastest on a network, with its 95 %
    interval, and in 2016: the median (`then`) and range over the columns of Table 7 for five tools,
    the median had they all trained the same network, and the median for two tools."""

    network: str
    threads: int
    slowest: str
    fastest: str
    declared: str
    ratio: KnownRatio
    then: float
    then_least: float
    then_most: float
    same_network: float
    two_tools: float


def apart(studies: Sequence[StudyTables], effects: Effects) -> list[Apart]:
    """`effects`: the time of what a tool trained over that of the network that it is named after,
    by network and tool."""
    cells = [
        replace(cell, seconds=cell.time / effects.get((cell.network, cell.tool), NO_EFFECT).ratio)
        for cell in readable()
    ]
    then, same, both = map(by_network, (spreads(), spreads(cells=cells), spreads(BOTH)))
    found = []
    for (network, threads), row in widest(studies).items():
        own = then[network]
        found.append(
            Apart(network, threads, row.pair.one, row.pair.over,
                  "yes" * row.declared, row.known,
                  median(own), min(own), max(own), median(same[network]), median(both[network]))
        )  # fmt: skip
    return sorted(found, key=lambda row: (networks().index(row.network), row.threads))


def by_network(found: Sequence[Over]) -> dict[str, list[float]]:
    return grouped((over.one.network, over.value) for over in found)


def widest(studies: Sequence[StudyTables]) -> dict[tuple[str, int], MeasuredRatio]:
    """For each network and number of threads, the pair of frameworks that is farthest apart, the
    slower one first. If several studies have a network, the first one counts."""
    names = {name.lower(): name for name in networks()}
    pairs = {row.pair for study in studies for row in study.ratios if row.pair.axis == "framework"}
    pairs |= {Pair(pair.axis, pair.over, pair.one) for pair in pairs}
    rows = [
        row
        for study in studies
        for pair in pairs
        for row in certified([study], pair)
        if row.id.workload in names and row.id.on_host and row.known.ratio >= 1
    ]
    found: dict[tuple[str, int], MeasuredRatio] = {}
    for key, own in grouped(
        ((names[row.id.workload], row.id.threads), row) for row in rows
    ).items():
        first = [row for row in own if row.study == own[0].study]
        found[key] = max(first, key=lambda row: row.known.ratio)
    return found


def spread_figure(rows: Sequence[Apart]) -> Figure:
    names = list(dict.fromkeys(row.network for row in rows))
    every = by_network(spreads())
    with canvas(1.2 + HEIGHT * len(names)) as drawn:
        axes = drawn.add_subplot()
        for place, name in enumerate(names):
            then = every[name]
            axes.plot(then, [place + 0.22] * len(then), "o", color=THEN, markerfacecolor=PAPER,
                      markersize=3.5, alpha=0.6)  # fmt: skip
            own = [row for row in rows if row.network == name]
            axes.plot([own[0].same_network], [place + 0.02], "D", color=THEN, markersize=4.5)
            for step, row in enumerate(own):
                height = place - 0.2 + 0.1 * step
                interval_on(axes, row.ratio, height, NOW, bool(row.declared))
        marked = {row.network for row in rows if row.declared}
        labels = [name + f" {DECLARED}" * (name in marked) for name in names]
        ratios_on(axes, labels, "the slowest framework's time over the fastest's")
        kinds = [("three of today", NOW, NOW), ("five tools of 2016", THEN, PAPER),
                 ("had each trained the same network", THEN, THEN)]  # fmt: skip
        legend(drawn, kinds, columns=2)
        return Figure(
            drawn,
            "spread",
            "How far frameworks are apart, 2016 and today",
            "The slowest over the fastest on each network: today PyTorch, TensorFlow and JAX as in "
            "their tutorials on a processor, with 95 % intervals, for each number of threads; in "
            "2016 five tools, for each processor, number of threads and GPU of Table 7. Filled "
            "diamond: the median of these, after the times of tools that trained another network "
            "were divided by what that network takes today over the one that it is named after. "
            f"{DECLARED} and hollow: today's two differ in a declared way. Logarithmic axis.",
            "Dot plot of the slowest over the fastest framework by network.",
            finding(rows),
            inlined=False,
        )


def finding(rows: Sequence[Apart]) -> str:
    now, then = [row.ratio.ratio for row in rows], [row.then for row in rows]
    most = max(rows, key=lambda row: row.ratio)
    both = [row.two_tools for row in rows]
    return (
        f"Three frameworks are {spread(min(now), max(now))} times apart on a network, most of all "
        f"on {most.network}, where {title(most.slowest)} is slowest; in 2016 five tools were "
        f"{spread(min(then), max(then))} times apart in the median of a network's cells. "
        "Three are closer than five by their number alone: TensorFlow and Torch were "
        f"{spread(min(both), max(both))} times apart."
    )


def speed_ups(studies: Sequence[StudyTables]) -> Figure:
    then = processor_over(GPU_OF_2016)
    names = networks()
    places = {name.lower(): place for place, name in enumerate(names)}
    pairs = certified(studies, Pair("device", HOST.name, GPU.name))
    now = [row for row in pairs if row.id.workload in places]
    with canvas(1.2 + HEIGHT * len(names)) as drawn:
        axes = drawn.add_subplot()
        for over in then:
            pale = 0.35 if over.note else 1
            axes.plot([over.value], [names.index(over.one.network)], "o", color=THEN,
                      markerfacecolor=PAPER, markersize=4.5, alpha=pale)  # fmt: skip
        for row in now:
            interval_on(axes, row.known, places[row.id.workload] - 0.25, NOW)
        ratios_on(axes, names, "the processor's time over the GPU's")
        kinds = [("2016", THEN, PAPER), *([("today", NOW, NOW)] if now else [])]
        legend(drawn, kinds)
        return Figure(
            drawn,
            "speed-ups",
            "What a GPU brought in 2016",
            f"Each tool's fastest time on {count(len(CPUS), 'processor')} over its time on a GTX "
            "1080, in Table 7 of Shi et al. (2016). Pale: a recovered or doubtful reading. "
            "Logarithmic axis.",
            "Dot plot of the processor's time over the GPU's by network.",
            said(then, bool(now)),
            inlined=False,
        )


def said(then: Sequence[Over], now: bool) -> str:
    values = [over.value for over in then if not over.note]
    text = (
        f"In 2016 a GPU was {two(min(values))} to {max(values):.0f} times as fast as the best "
        f"processor of the same tool, {two(median(values))} times in the median of "
        f"{count(len(values), 'pair')} whose readings are sure."
    )
    return text if now else f"{text} No GPU of today has trained these networks here."

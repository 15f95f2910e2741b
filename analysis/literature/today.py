"""Today's ratios beside those of 2016: tools on the same networks, and definitions of a network."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import cycle
from statistics import geometric_mean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from analysis.data.results import DEFAULT, TUNED, BenchmarkId, grouped
from analysis.format import count, listing, title
from analysis.literature.dots import HEIGHT, interval_on, legend, ratios_on
from analysis.literature.published import peaks
from analysis.literature.published.table7 import CPUS, Over, networks, tool_over
from analysis.literature.published.then import ITSELF, band, doubts, verdict
from analysis.literature.studies import KnownRatio, MeasuredRatio, Pair, StudyTables
from analysis.report.figures.style import PAPER, WIDTH, Figure, canvas
from analysis.report.prose import DECLARED, two

NOW, THEN, WORK, ANOTHER = "#0072b2", "#d55e00", "#009e73", "#b8578a"
TODAY = {  # by variant: text in the legend, colour, and how far above 2016 it is drawn
    DEFAULT: ("today", NOW, 0.12),
    TUNED: ("today, tuned", ANOTHER, 0.3),
}
TOOLS = Pair("framework", "tensorflow", "pytorch")
LIKE = {"TensorFlow": "tensorflow", "Torch": "pytorch"}  # whose time shows a tool's effect


@dataclass(frozen=True)
class Beside:
    """A row of then-and-now.csv: TensorFlow over PyTorch today, both in one `variant`, with the
    95 % interval, and `then`, over Torch in 2016 on a processor with as many threads, with what
    rounding leaves open and `ITSELF` beyond it. `then_verdict` is on TensorFlow in 2016, by these
    ends, and `note` says what is uncertain about the cells. `same`: the ratio of 2016 had both
    tools trained the network of this name, None if they did or it was not measured. `declared`:
    today's two differ in a declared way."""

    network: str
    threads: int
    variant: str
    declared: str
    ratio: KnownRatio
    verdict: str
    device: str
    then: KnownRatio
    then_verdict: str
    note: str
    same: KnownRatio | None = None


@dataclass(frozen=True)
class Defined:
    """A row of definitions.csv: what a tool trained under a network's name, over that network.

    `grade`: how well it is known (data/definitions.csv). `parameters` and `gflop`: those of the
    definition, and billions of operations of its training step in 2016. `operations` and `ratio`:
    these operations, and its time today with its 95 % interval, both over the network's.
    `published`: the tool's time over Torch's in 2016, with the least and the most of its cells;
    None if the tool is Torch. `explained`: how much of the published cells today's interval
    explains (`explains`).
    """

    network: str
    tool: str
    grade: str
    framework: str
    parameters: int
    gflop: float
    operations: float
    ratio: KnownRatio
    published: float | None
    least: float | None
    most: float | None
    explained: str


# The time of what a tool trained under a network's name, over that network's, by network and tool.
Effects = Mapping[tuple[str, str], KnownRatio]
NO_EFFECT = KnownRatio(1.0, 1.0, 1.0)
INTERVALS = (KnownRatio, KnownRatio | None)  # types of fields


def beside(studies: Sequence[StudyTables], effects: Effects) -> list[Beside]:
    """By network, threads and variant. If several studies have them, the first one counts."""
    found = []
    first: dict[BenchmarkId, str] = {}
    for row in certified(studies, TOOLS, TODAY):
        on = row.id.any_framework
        if not on.on_host or first.setdefault(on, row.study) != row.study:
            continue
        for over in tool_over("TensorFlow", "Torch"):
            one = over.one
            here = one.device in CPUS and one.threads == row.id.threads
            if here and one.network.lower() == row.id.workload:
                found.append(
                    Beside(one.network, row.id.threads, row.id.variant, "yes" * row.declared,
                           row.known, row.estimate.verdict, one.device,
                           KnownRatio(over.value, *band(over)), verdict(*band(over)), doubts(over),
                           set_right(over, effects))
                )  # fmt: skip
    return sorted(found, key=lambda row: (networks().index(row.network), row.threads, row.variant))


def set_right(over: Over, effects: Effects) -> KnownRatio | None:
    """The ratio of 2016 had both tools trained the network of this name, and its ends, which are
    those of both tools' effects and of 2016 together."""
    cells = [(cell.network, cell.tool) for cell in (over.one, over.base)]
    if not effects.keys() & {*cells}:
        return None
    one, base = (effects.get(cell, NO_EFFECT) for cell in cells)
    low, high = band(over)
    return KnownRatio(
        over.value / one.ratio * base.ratio, low / one.high * base.low, high / one.low * base.high
    )


def shares(studies: Sequence[StudyTables]) -> list[peaks.Today]:
    """By network and framework. If several studies have a contender, the first one counts."""
    names = {name.lower(): name for name in networks()}
    found: dict[BenchmarkId, float] = {}
    for study in reversed(studies):
        found |= study.peaks
    rows = [
        peaks.Today(names[one.workload], one.framework, one.variant, one.threads, round(own, 3))
        for one, own in found.items()
        if one.workload in names and one.variant in TODAY
    ]
    return sorted(rows, key=lambda row: (networks().index(row.network), *astuple(row)[1:]))


def defined(studies: Sequence[StudyTables]) -> list[Defined]:
    found = []
    for (network, tool), own in peaks.definitions().items():
        named = network.lower()
        pair = Pair("workload", f"{named}-{tool.lower()}", named)
        cells = [over for over in tool_over(tool, "Torch") if over.one.network == network]
        published = [over.value for over in cells if tool != "Torch"]
        work = peaks.networks()
        whole = work[network].flops(cells[0].one.batch)
        trained = work[own["layers"]]
        flops = trained.flops(int(own["samples"]))
        middle, least, most = (f(published) if published else None for f in (median, min, max))
        for row in certified(studies, pair):
            found.append(
                Defined(network, tool, own["grade"], row.id.framework, trained.parameters,
                        round(flops / 1e9, 3), flops / whole, row.known, middle, least, most,
                        explains(row.known, published))
            )  # fmt: skip
    return found


def explains(known: KnownRatio, published: Sequence[float]) -> str:
    """Whether a ratio's interval reaches those published: `yes`, `more` if it is farther from 1 on
    the same side than all of them, `partly` if it is nearer, or `no`; "" if none are published."""
    if not published:
        return ""
    least, most = min(published), max(published)
    if known.low <= most and known.high >= least:
        return "yes"
    if known.high < min(least, 1) or known.low > max(most, 1):
        return "more"
    return "partly" if (known.high < 1 and most < 1) or (known.low > 1 and least > 1) else "no"


def effects_of(rows: Iterable[Defined]) -> Effects:
    """Of each definition, in the framework of today that is the tool's like, or on average over all
    of them."""
    found = {}
    for (network, tool), own in grouped(((row.network, row.tool), row) for row in rows).items():
        kept = [row for row in own if row.framework == LIKE.get(tool)] or own
        ends = zip(*(row.ratio for row in kept), strict=True)
        found[network, tool] = KnownRatio(*map(geometric_mean, ends))
    return found


def certified(
    studies: Iterable[StudyTables], pair: Pair, variants: Collection[str] = (DEFAULT,)
) -> list[MeasuredRatio]:
    """Rows of these variants that may decide something."""
    rows = [row for study in studies for row in study.of(pair)]
    return [row for row in rows if row.usable and row.id.variant in variants]


def table(rows: Sequence[Any]) -> list[Sequence[object]]:
    """The rows of one class as a table, below the names of their fields. An interval has three
    columns."""
    head: list[str] = []
    for field in fields(rows[0]):
        ends = ("", "_low", "_high") if field.type in INTERVALS else ("",)
        head += [field.name + end for end in ends]
    return [head, *map(values, rows)]


def values(row: Any) -> list[object]:
    found: list[object] = []
    for field in fields(row):
        value = getattr(row, field.name)
        found += (value or (None,) * 3) if field.type in INTERVALS else [value]
    return found


def then_and_now(rows: Sequence[Beside]) -> Figure:
    names = list(dict.fromkeys(map(place_of, rows)))
    with canvas(1.2 + HEIGHT * len(names), 1.2 * WIDTH) as drawn:
        axes = drawn.add_subplot()
        # 2016 has two processors for one ratio of today.
        for row in {(place_of(row), row.variant): row for row in rows}.values():
            place = names.index(place_of(row))
            _, colour, above = TODAY[row.variant]
            interval_on(axes, row.ratio, place - above, colour, bool(row.declared))
        for row in rows:
            place = names.index(place_of(row))
            lower = place + (0.1 if row.device == CPUS[0] else 0.28)
            looks: Any = {"color": THEN, "alpha": 0.45 if row.note else 1}
            axes.plot(row.then[1:], [lower] * 2, linewidth=0.9, **looks)
            axes.plot([row.then.ratio], [lower], "o", markerfacecolor=PAPER, markersize=4.5,
                      **looks)  # fmt: skip
            if row.same:
                axes.plot([row.same.ratio], [lower], "D", color=THEN, markerfacecolor=PAPER,
                          markersize=4)  # fmt: skip
        marked = {place_of(row) for row in rows if row.declared}
        labels = [name + f" {DECLARED}" * (name in marked) for name in names]
        ratios_on(axes, labels, "TensorFlow's time over (Py)Torch's")
        for place, own in enumerate(grouped((place_of(row), row) for row in rows).values()):
            beside_axes(axes, place - 0.2, f"today: {now_in_words(own)}", NOW)
            beside_axes(axes, place + 0.2, f"2016: {then_in_words(own)}", THEN)
        kinds = [
            (text, colour, colour)
            for variant, (text, colour, _) in TODAY.items()
            if variant in {row.variant for row in rows}
        ]
        fair = [("2016, had both trained this network", THEN, PAPER, "D")]
        legend(drawn, [*kinds, ("2016", THEN, PAPER), *fair * any(row.same for row in rows)])
        return Figure(
            drawn,
            "then-and-now",
            "TensorFlow over (Py)Torch, 2016 and today",
            "TensorFlow's time over PyTorch's today, both as in the tutorials or both tuned, with "
            "its 95 % interval, and over Torch's in Table 7 of Shi et al. (2016) with as many "
            "threads of two processors (desktop above server). Lines of 2016: what rounding leaves "
            f"open and {ITSELF:g} times either way, because a framework measured in single "
            "processes differs from itself by that. Diamonds divide a published time by what that "
            "tool's definition takes today, over the network that it is named after. Pale: a "
            "recovered or doubtful reading. Words: whether TensorFlow is slower or faster. In 2016 "
            "a line that includes 1 cannot tell; if two words differ, the desktop's is first. "
            "Today's batch sizes are smaller for some "
            "networks, and both variants may come from different studies and hosts. "
            f"{DECLARED} and hollow: today's two differ in a declared way. Logarithmic axis.",
            "Dot plot of ratios by network, 2016 and today.",
            finding_beside(rows),
            inlined=False,
        )


def beside_axes(axes: Axes, place: float, text: str, colour: str) -> None:
    across = blended_transform_factory(axes.transAxes, axes.transData)
    axes.annotate(text, (1, place), xycoords=across, xytext=(6, 0), textcoords="offset points",
                  va="center", fontsize=7.5, color=colour)  # fmt: skip


def now_in_words(rows: Iterable[Beside]) -> str:
    """`faster; tuned: slower`"""
    words = {row.variant: row.verdict for row in rows}
    return "; ".join(f"{own}: {word}".removeprefix(f"{DEFAULT}: ") for own, word in words.items())


def then_in_words(rows: Iterable[Beside]) -> str:
    """`slower`, or `slower; cannot tell` if the two processors differ."""
    return "; ".join(dict.fromkeys(row.then_verdict for row in rows))


def place_of(row: Beside) -> str:
    return f"{row.network} ({count(row.threads, 'thread')})"


def finding_beside(rows: Sequence[Beside]) -> str:
    tutorials, tuned = ([row for row in rows if row.variant == own] for own in TODAY)
    parts = [("In", tutorials), ("With tuned frameworks, in", tuned)]
    return " ".join(f"{begin} {turned_round(own)}." for begin, own in parts if own)


def turned_round(rows: Sequence[Beside]) -> str:
    """On both processors."""
    cases = grouped((place_of(row), row) for row in rows)
    turned = [
        name
        for name, own in cases.items()
        if all({row.then_verdict, row.verdict} == {"slower", "faster"} for row in own)
    ]
    which = f": {listing(turned)}" * bool(turned)
    number = len(turned) or "none"
    return f"{number} of {count(len(cases), 'case')} the order of 2016 has turned round{which}"


def definitions(rows: Sequence[Defined]) -> Figure:
    groups = grouped((f"{row.network} of {row.tool}", row) for row in rows)
    frameworks = list(dict.fromkeys(row.framework for row in rows))
    colours = dict(zip(frameworks, cycle((NOW, ANOTHER)), strict=False))
    with canvas(1.2 + HEIGHT * len(groups)) as drawn:
        axes = drawn.add_subplot()
        for place, own in enumerate(groups.values()):
            one = own[0]  # its operations and cells are the same in every framework
            axes.plot([one.operations], [place - 0.28], "D", color=WORK, markersize=4.5)
            for row in own:
                colour = colours[row.framework]
                here = place + 0.14 * frameworks.index(row.framework) - 0.1
                interval_on(axes, row.ratio, here, colour)
            cells = [end for end in (one.least, one.published, one.most) if end is not None]
            axes.plot(cells[::2], [place + 0.28] * len(cells[::2]), color=THEN, linewidth=0.9)
            axes.plot(cells[1:2], [place + 0.28] * len(cells[1:2]), "o", color=THEN,
                      markerfacecolor=PAPER, markersize=4.5)  # fmt: skip
        ratios_on(axes, list(groups), "over the network that it is named after")
        today = [(f"time today, {title(name)}", hue, hue) for name, hue in colours.items()]
        legend(drawn, [("operations", WORK, WORK), *today,
                       ("time in 2016, over Torch's", THEN, PAPER)], columns=2)  # fmt: skip
        return Figure(
            drawn,
            "definitions",
            "What was trained under a network's name",
            "Each row is a definition in the authors' repository, over the network that it is "
            "named after: its operations, its time today with its 95 % interval, and the "
            "published times of that tool over Torch's, the median and all cells. The tool "
            "explains no more than what is between the last two. Logarithmic axis.",
            "Dot plot of operations, time today and published time of definitions.",
            finding_defined(rows),
            inlined=False,
        )


def finding_defined(rows: Sequence[Defined]) -> str:
    found = grouped(((row.network, row.tool), two(row.ratio.ratio)) for row in rows)
    parts = [
        f"{listing(times)} times as long as {network} itself for {tool}'s"
        for (network, tool), times in found.items()
    ]
    frameworks = listing(dict.fromkeys(title(row.framework) for row in rows))
    return f"Today in {frameworks} the definitions take {listing(parts)}."

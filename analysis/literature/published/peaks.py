"""The share of its processor's peak that each cell of Table 7 needs, if it trained the network
that it is named after.

Operations follow from the layers (`data/layers.csv`), by the rule of `Workload.flops_per_step`.
`data/definitions.csv` has the cells whose definition in the authors' repository
(github.com/hclhkbu/dlbench at 78d8a41) does other work than its name says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.data.results import grouped
from analysis.format import count, title
from analysis.literature.published import table7
from analysis.literature.published.table7 import CPUS, HALF, Cell, readable, rows
from analysis.report.figures.panels import logarithmic
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas
from analysis.report.prose import two

TOOLS = ("Caffe", "CNTK", "TensorFlow", "MXNet", "Torch")
ROW = 0.115  # inches for each tool of a network
GROUP = len(TOOLS) + 2  # rows of a network: its tools, today, and none
VALUE, SHARE = attrgetter("value"), attrgetter("share")
MARKS = {True: "o", False: "D"}  # processors, GPUs


@dataclass(frozen=True)
class Work:
    """A network's parameters, and the multiply-adds of one sample's forward pass in all
    layers and in the first, whose input needs no gradient."""

    parameters: int
    multiply_adds: int
    first: int

    def flops(self, samples: int) -> int:
        """Floating-point operations of the matrix work in one step."""
        return 2 * samples * (3 * self.multiply_adds - self.first)


@cache
def networks() -> Mapping[str, Work]:
    """The work of each network by name. A layer has `positions` of `inputs` multiply-adds for each
    of its `outputs`. `more` counts further parameters of each output, `times` the equal layers."""
    found: dict[str, Work] = {}
    for row in rows("layers.csv"):
        positions, inputs, outputs, more, times = (
            int(row[key]) for key in ("positions", "inputs", "outputs", "more", "times")
        )
        once = positions * inputs * outputs
        before = found.get(row["network"], Work(0, 0, once))
        found[row["network"]] = Work(
            before.parameters + times * outputs * (inputs + more),
            before.multiply_adds + times * once,
            before.first,
        )
    return found


@cache
def definitions() -> Mapping[tuple[str, str], dict[str, str]]:
    """By network and tool."""
    return {(row["network"], row["tool"]): row for row in rows("definitions.csv")}


@cache
def processors() -> Mapping[str, dict[str, str]]:
    """By device."""
    return {row["device"]: row for row in rows("processors.csv")}


def peak(device: str, threads: int | None) -> float:
    """Floating-point operations a second in float32, of one core for each thread."""
    own = processors()[device]
    cores = int(own["cores"])
    if threads is not None:
        cores = min(cores, threads)
    return cores * float(own["gigahertz"]) * 1e9 * float(own["flops_per_cycle"])


@dataclass(frozen=True)
class Today:
    """A row of shares-today.csv: the `share` that a contender of today reaches of what the
    machine's own matrix product reached in the same rounds. That is no peak: it may exceed 1."""

    network: str
    framework: str
    variant: str
    threads: int
    share: float


@dataclass(frozen=True)
class Share:
    """The share of its processor's peak that a cell needs; `low` is the least that the rounding of
    its time allows. `defined` is the same for the definition in the authors' repository, None if
    that does the work of its name or was not read."""

    cell: Cell
    value: float
    low: float
    defined: float | None

    @property
    def exceeds(self) -> bool:
        return self.low > 1

    @property
    def impossible(self) -> bool:
        """Whether the processor cannot have done the work. On a GPU, a share above 1 proves
        nothing, because convolutions may take fewer operations than are counted (Winograd)."""
        return self.exceeds and self.cell.device in CPUS


def shares() -> list[Share]:
    return [share(cell) for cell in readable()]


def share(cell: Cell) -> Share:
    flops = networks()[cell.network].flops(cell.batch)
    most = peak(cell.device, cell.threads)
    own = definitions().get((cell.network, cell.tool))
    defined = networks()[own["layers"]].flops(int(own["samples"])) if own else None
    return Share(
        cell,
        flops / cell.time / most,
        flops / (cell.time + HALF) / most,
        None if defined is None else defined / cell.time / most,
    )


def impossible(now: Sequence[Today] = ()) -> Figure:
    found = shares()
    theme = Theme(tuple(tool.lower() for tool in TOOLS), ())
    with canvas(1.3 + ROW * GROUP * len(table7.networks())) as drawn:
        axes = drawn.add_subplot()
        named = {(one.cell.network, one.cell.tool): one for one in sorted(found, key=VALUE)}
        alike = (((one.cell.tool, mark(one), bool(one.cell.note)), one) for one in found)
        for (tool, shape, pale), own in grouped(alike).items():
            axes.plot([one.value for one in own], [place(one) for one in own], shape,
                      color=theme.colour(tool.lower()), markersize=3.6,
                      alpha=0.4 if pale else 1)  # fmt: skip
        for one in found:
            if one.exceeds:
                most = named[one.cell.network, one.cell.tool] is one
                draw_above(axes, one, theme.colour(one.cell.tool.lower()), most)
        axes.plot([row.share for row in now], [top(row.network) + len(TOOLS) for row in now], "s",
                  color=INK, markersize=3.2, alpha=0.7)  # fmt: skip
        axes.axvline(1, color=INK, linewidth=1.4)
        axes.set_xscale("log")
        logarithmic(axes, "x")
        axes.set_xlabel("share of the processor's peak in float32 (1: all of it)")
        axes.set_yticks(
            [top(name) + len(TOOLS) / 2 for name in table7.networks()], table7.networks()
        )
        axes.set_ylim(top(table7.networks()[-1]) + len(TOOLS) + 0.7, -0.7)
        bare(axes, "x")
        drawn.legend(handles=handles(theme, bool(now)), loc="outside upper left", ncols=4,
                     labelcolor=INK, handletextpad=0.1, columnspacing=1,
                     borderaxespad=0.2)  # fmt: skip
        return Figure(
            drawn,
            "impossible",
            "Published times against the peak",
            "Each mark is a cell of Table 7 of Shi et al. (2016): the operations of the network "
            "that the cell names, over its time and the peak of the cores or the GPU at their "
            "highest clock. Hollow: the same time with the operations of the definition in the "
            "authors' repository. Pale: a doubtful or recovered reading. Above 1 a processor "
            "cannot have done the work. On a GPU it proves nothing, because some convolutions take "
            "fewer operations than are counted. Logarithmic axis."
            + " Squares: frameworks of today, with `default` and `tuned`, over what the machine's "
            "own matrix product reached in the same rounds (`shares-today.csv`). That is no peak, "
            "so they may lie above 1." * bool(now),
            "Dot plot of the share of the peak by network, tool and device.",
            finding(found) + reached(now),
            inlined=False,
        )


def finding(found: Sequence[Share]) -> str:
    above = [one for one in found if one.exceeds]
    most = max(found, key=VALUE)
    threads = "" if most.cell.threads is None else f" with {count(most.cell.threads, 'thread')}"
    return (
        f"{len(above)} of {len(found)} published times need more than the peak, most of all "
        f"{most.cell.tool}'s {most.cell.network}{threads} on the "
        f"{processors()[most.cell.device]['title']}: {most.value:.1f} times."
    )


def reached(now: Sequence[Today]) -> str:
    """What today's frameworks reach, if any is there."""
    if not now:
        return ""
    least, most = min(now, key=SHARE), max(now, key=SHARE)
    return (
        f" Today's frameworks reach {two(least.share)} ({title(least.framework)} on "
        f"{least.network}) to {two(most.share)} ({title(most.framework)} on {most.network}) of "
        "this machine's own matrix product."
    )


def top(network: str) -> float:
    """Where a network's first tool is drawn."""
    return table7.networks().index(network) * GROUP


def place(one: Share) -> float:
    return top(one.cell.network) + TOOLS.index(one.cell.tool)


def mark(one: Share) -> str:
    return MARKS[one.cell.device in CPUS]


def draw_above(axes: Axes, one: Share, colour: str, most: bool) -> None:
    """What a cell above the peak has beside its mark. `most`: it is the farthest of its tool and
    network, and its value stands there."""
    at = place(one)
    if one.defined:
        axes.plot([one.defined, one.value], [at, at], color=colour, linewidth=0.7, zorder=1)
        axes.plot([one.defined], [at], mark(one), color=colour, markersize=4.2,
                  markerfacecolor=PAPER, markeredgewidth=1.1, zorder=4)  # fmt: skip
    if most:
        axes.annotate(f"{one.value:.1f}", (one.value, at), xytext=(5, 0), va="center",
                      textcoords="offset points", fontsize=8)  # fmt: skip


def handles(theme: Theme, now: bool) -> list[Line2D]:
    tools = [
        Line2D([], [], marker="s", linestyle="", color=theme.colour(tool.lower()), label=tool)
        for tool in TOOLS
    ]
    kinds = [("o", INK, "processor"), ("D", INK, "GPU"), ("o", PAPER, "as defined")]
    kinds += [("s", INK, "today")] * now
    return tools + [
        Line2D([], [], marker=shape, linestyle="", color=INK, markerfacecolor=inside,
               markersize=4.5, label=label)
        for shape, inside, label in kinds
    ]  # fmt: skip

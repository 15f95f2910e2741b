"""The start cost of each contender: import, network, and first mini-batch."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.start import StartLine
from analysis.format import listing, title
from analysis.report.figures.panels import Panels, fitting, who
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas
from analysis.report.prose import spread, two

# Filled, hatched and hollow, because shades of a colour would not differ enough from the page.
COSTS = {"imports": "import", "build": "network", "compile": "first mini-batch"}
BESIDE = 3  # points between a bar and its total


def start(findings: Findings, theme: Theme, name: str) -> Figure | None:
    lines = {
        line.id: line
        for line in findings.start
        if line.id in findings.matched and line.total.value is not None
    }
    panels = Panels(lines)
    if not panels:
        return None
    labels = [named(*contender) for contender in panels.contenders]
    most = max(sum(seconds(line)) for line in lines.values())
    with canvas(panels.height(0.75 + 0.2 * len(labels), 0.4)) as drawn:
        for axes, _, benchmarks in panels.draw(drawn, labels=True):
            for one in benchmarks:
                stack(axes, labels.index(who(one)), lines[one], theme.colour(one.framework))
            axes.set_yticks(range(len(labels)), [fitting(one) for one in labels])
            axes.set_ylim(len(labels) - 0.4, -0.6)
            axes.set_xlim(0, 1.2 * most)
            axes.set_xlabel("seconds")
            bare(axes, "x")
        handles = [
            Patch(label=label, edgecolor=INK, linewidth=0.9, **filling(part, INK))
            for part, label in COSTS.items()
        ]
        drawn.legend(handles=handles, loc="outside upper center", ncols=3)
        return Figure(
            drawn,
            name,
            "Start cost",
            "Mean seconds over replicates until a process is as fast as later: import, building "
            "the network, and what the first mini-batch takes beyond a steady one. The number is "
            "their sum.",
            f"Stacked bars of seconds: {panels}.",
            slowest(list(lines.values())),
        )


def seconds(line: StartLine) -> list[float]:
    """By part, in order; a first mini-batch faster than a steady one costs nothing."""
    return [max(getattr(line, part).value or 0.0, 0.0) for part in COSTS]


def stack(axes: Axes, place: int, line: StartLine, colour: str) -> None:
    left = 0.0
    for part, time in zip(COSTS, seconds(line), strict=True):
        axes.barh(place, time, left=left, height=0.62, edgecolor=colour, linewidth=0.9,
                  clip_on=False, **filling(part, colour))  # fmt: skip
        left += time
    axes.annotate(two(left), (left, place), xytext=(BESIDE, 0), textcoords="offset points",
                  va="center_baseline", fontsize=8)  # fmt: skip


def filling(part: str, colour: str) -> dict[str, Any]:
    if part == "imports":
        return {"facecolor": colour}
    return {"facecolor": PAPER, "hatch": "/////" if part == "build" else ""}


def slowest(lines: Sequence[StartLine]) -> str:
    found = grouped((line.id.framework, line) for line in lines)
    sums = {name: [sum(seconds(line)) for line in held] for name, held in found.items()}
    order = sorted(sums, key=lambda name: -max(sums[name]))

    def cost(name: str) -> str:
        return f"{spread(min(sums[name]), max(sums[name]))} s"

    first, *others = order
    means = [sum(part) for part in zip(*map(seconds, found[first]), strict=True)]
    most = dict(zip(COSTS.values(), means, strict=True))
    part = max(most, key=lambda label: most[label])
    mostly = f", most of it for its {part}" if most[part] > sum(means) / 2 else ""
    if not others:
        return f"{title(first)} starts in {cost(first)}{mostly}."
    rest = listing(f"{title(name)} in {cost(name)}" for name in others)
    return f"{title(first)} starts slowest, in {cost(first)}{mostly}; {rest}."

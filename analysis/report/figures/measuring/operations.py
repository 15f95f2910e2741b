"""The operations of each contender's step under its framework's profiler, as stacked bars."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.findings.findings import Findings
from analysis.findings.speed.operations import Profile, profiles
from analysis.format import percent
from analysis.report.figures.panels import Panels, fitting, where, who
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, PALETTE, PAPER, SPARE, Figure, Theme, bare, canvas
from frameworks.operations import (
    BACKWARD,
    CATEGORIES,
    COPIES,
    DATA,
    DISPATCH,
    ELEMENTWISE,
    FORWARD,
    OPTIMISER,
    POOLING,
    PRODUCT,
    UNACCOUNTED,
    WEIGHTS,
)

THICK = 0.7  # of the distance between bars
ROW, AROUND = 0.25, 0.75  # inches: a bar, and what is above and below those of a panel
LABELLED = 0.02  # share of a step from which on a category is in the legend
# Colour, opacity and hatching of each category. The parts of convolutions share a colour.
LOOKS: dict[str, tuple[str, float, str]] = {
    PRODUCT: (PALETTE["tensorflow"], 1.0, ""),
    FORWARD: (PALETTE["pytorch"], 1.0, ""),
    DATA: (PALETTE["pytorch"], 0.7, "///"),
    WEIGHTS: (PALETTE["pytorch"], 0.7, "\\\\\\"),
    BACKWARD: (PALETTE["pytorch"], 0.7, "xxx"),
    POOLING: (PALETTE["jax"], 1.0, ""),
    ELEMENTWISE: (PALETTE["keras"], 1.0, ""),
    OPTIMISER: (SPARE[1], 1.0, ""),
    COPIES: (SPARE[0], 1.0, ""),
    DISPATCH: (SPARE[2], 1.0, ""),
    UNACCOUNTED: (PAPER, 1.0, "---"),
}


def operations(findings: Findings, theme: Theme, name: str) -> Figure | None:
    found = {profile.id: profile for profile in profiles(findings)}
    if not found:
        return None
    panels = Panels(found)
    labels = [named(*contender) for contender in panels.contenders]
    with canvas(panels.height(AROUND + ROW * len(labels), 0.6)) as drawn:
        for axes, _, benchmarks in panels.draw(drawn, labels=True):
            for one in benchmarks:
                bar(axes, labels.index(who(one)), found[one])
            axes.set_ylim(len(labels) - 0.5, -0.5)
            axes.set_yticks(range(len(labels)), [fitting(label) for label in labels])
            axes.set_xlim(0, 100)
            axes.set_xlabel("% of the profiled step")
            bare(axes, "x")
        drawn.legend(handles=entries(list(found.values())), loc="outside upper center", ncols=3,
                     labelcolor=INK)  # fmt: skip
        return Figure(
            drawn,
            name,
            "By operation",
            "A bar is a contender's step under its framework's own profiler. Dispatch is the time "
            "in which no operation ran; unaccounted are operations whose name does not say what "
            "they do.",
            f"Stacked bars of the shares of operations: {panels}.",
            finding(list(found.values())),
        )


def bar(axes: Axes, place: int, profile: Profile) -> None:
    left = 0.0
    for category in CATEGORIES:
        if width := 100 * profile.shares.get(category, 0.0):
            colour, opacity, hatch = LOOKS[category]
            edge = INK if category == UNACCOUNTED else PAPER
            axes.barh(
                place, width, THICK, left=left, color=colour, alpha=opacity, hatch=hatch,
                edgecolor=edge, linewidth=0.4,
            )  # fmt: skip
            left += width


def entries(found: Sequence[Profile]) -> list[Patch]:
    return [
        Patch(facecolor=colour, alpha=opacity, hatch=hatch, label=category,
              edgecolor=INK if category == UNACCOUNTED else PAPER, linewidth=0.4)
        for category, (colour, opacity, hatch) in LOOKS.items()
        if any(profile.shares.get(category, 0.0) >= LABELLED for profile in found)
    ]  # fmt: skip


def finding(found: Sequence[Profile]) -> str:
    if not found:
        return ""
    most = max(found, key=lambda profile: profile.largest[1])
    category, share = most.largest
    return (
        f"The largest part of any step: {percent(round(share, 2))}, {category}, of "
        f"{who(most.id)} {where(most.id)}."
    )

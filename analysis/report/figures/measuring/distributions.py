"""The distribution of steady-state mini-batches, with the median of each replicate."""

from statistics import median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.report.figures.panels import Panels, apart, fitting, logarithmic, where, who
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas
from analysis.stats.rounds import Floats

SMOOTH = 30  # points of each outline
HALF = 0.4  # of a row, by which an outline reaches up and down


def distributions(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = Panels(findings.matched)
    if not panels:
        return None
    labels = [named(*contender) for contender in panels.contenders]
    drawn_axes: list[Axes] = []
    with canvas(panels.height(0.8 + 0.3 * len(labels), 0.2)) as drawn:
        for axes, _, benchmarks in panels.draw(drawn, labels=True):
            axes.set_xscale("log")
            for one in benchmarks:
                rows, place = findings.measured[one], labels.index(who(one))
                times = np.concatenate([own[~np.isnan(own)] for own in rows["logs"]])
                violin(axes, times, place, theme.colour(one.framework))
                axes.scatter(
                    rows["median"], [place] * len(rows), s=3.6**2, color=INK, edgecolor=PAPER,
                    linewidth=0.5, zorder=3,
                )  # fmt: skip
            axes.set_ylim(len(labels) - 0.5, -0.5)
            axes.set_yticks(range(len(labels)), [fitting(one) for one in labels])
            axes.set_xlabel("ms per mini-batch")
            bare(axes, "x")
            drawn_axes.append(axes)
        panels.align(drawn_axes, "x")
        for axes in drawn_axes:
            logarithmic(axes, "x")
        return Figure(
            drawn,
            name,
            "Distributions",
            "Shapes: all steady-state mini-batches, of equal width. Dots: the median of each "
            "replicate, which is what is compared; their scatter limits what can be decided. "
            "Logarithmic axes.",
            "Violin plots of milliseconds per steady-state mini-batch with a dot for the median "
            f"of each replicate: {panels}.",
            scatter(findings, [one for held in panels.values() for one in held]),
        )


def violin(axes: Axes, logs: Floats, place: int, colour: str) -> None:
    """The outline of the density of times, given as logarithms; a line if they are all equal. The
    kernel is a normal distribution of Scott's (1992) width."""
    span = np.linspace(logs.min(), logs.max(), SMOOTH)
    width = logs.std(ddof=1) * len(logs) ** -0.2 if len(logs) > 1 else 0.0
    pale = to_rgba(colour, 0.4)
    if not width > 0:
        axes.plot(np.exp(span[[0, 0]]), [place - HALF, place + HALF], color=pale, linewidth=0.9)
        return
    density = np.exp(-0.5 * ((span[:, None] - logs) / width) ** 2).sum(axis=1)
    reach = HALF * density / density.max()
    axes.fill_between(
        np.exp(span), place - reach, place + reach, facecolor=pale, edgecolor=pale, linewidth=0.9
    )


def scatter(findings: Findings, benchmarks: list[BenchmarkId]) -> str:
    """How far the processes of a contender differ: the most, and the median of all contenders."""
    spreads = []
    for one in benchmarks:
        medians = findings.measured[one]["median"]
        if len(medians) > 1:
            spreads.append((float(medians.max() / medians.min()), one))
    if not spreads:
        return "One replicate does not show how far processes of a contender differ."
    most, one = max(spreads, key=lambda pair: pair[0])
    text = f"Medians of {who(one)}'s processes differ by up to {apart(most)} {where(one)}"
    if len(spreads) == 1:
        return f"{text}."
    half = apart(median(spread for spread, _ in spreads))
    return f"{text}; for half of the contenders, by less than {half}."

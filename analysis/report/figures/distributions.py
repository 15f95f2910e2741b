"""The distribution of steady-state mini-batches, with the median of each replicate."""

from statistics import median
from typing import Any

import seaborn as sns
from matplotlib.axes import Axes

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.report.figures.panels import Panels, apart, fitting, milliseconds, where, who
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas, render

SMOOTH = 30  # points of each outline


def distributions(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = Panels(findings.matched)
    if not panels:
        return None
    steady = findings.batches[~findings.batches["warmup"]]
    labels = {named(*contender): theme.colour(contender[0]) for contender in panels.contenders}
    drawn_axes: list[Axes] = []
    with canvas(panels.height(0.8 + 0.3 * len(labels), 0.2)) as drawn:
        for axes, panel, benchmarks in panels.draw(drawn, labels=True):
            here = steady[steady["workload"] == panel.workload]
            times = {who(one): here["ms"][here["contender"] == one.contender] for one in benchmarks}
            medians = {who(one): findings.measured[one]["median"] for one in benchmarks}
            sns.violinplot(
                times, orient="y", order=list(labels), palette=labels, ax=axes, inner=None, cut=0,
                density_norm="width", log_scale=True, linewidth=0, alpha=0.4, gridsize=SMOOTH,
                legend=False, saturation=1,
            )  # fmt: skip
            for shape in axes.collections:  # the fill alone is too pale beside the page
                fill: Any = shape.get_facecolor()
                shape.set_edgecolor(fill[:, :3])
                shape.set_linewidth(0.9)
            sns.stripplot(
                medians, orient="y", order=list(labels), ax=axes, color=INK, size=3.6,
                jitter=False, edgecolor=PAPER, linewidth=0.5,
            )  # fmt: skip
            axes.set_yticks(range(len(labels)), [fitting(one) for one in labels])
            axes.set_xlabel("ms per mini-batch")
            bare(axes, "x")
            drawn_axes.append(axes)
        panels.align(drawn_axes, "x")
        for axes in drawn_axes:
            milliseconds(axes, "x")
        return render(
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


def scatter(findings: Findings, benchmarks: list[BenchmarkId]) -> str:
    """How far processes of one contender differ: half of the contenders', and the most."""
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

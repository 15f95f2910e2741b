"""The distribution of steady-state mini-batches, with the median of each replicate."""

import seaborn as sns

from analysis.findings.findings import Findings
from analysis.report.figures.panels import Panels, milliseconds
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas, render


def distributions(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = Panels(findings.matched)
    if not panels:
        return None
    steady = findings.batches[~findings.batches["warmup"]]
    labels = {named(*contender): theme.colour(contender[0]) for contender in panels.contenders}
    with canvas(panels.height(0.75 + 0.36 * len(labels), 0.2)) as drawn:
        for axes, panel, benchmarks in panels.draw(drawn, labels=True):
            here = steady[steady["workload"] == panel.workload]
            times = {
                benchmark.who: here["ms"][here["contender"] == benchmark.contender]
                for benchmark in benchmarks
            }
            medians = {
                benchmark.who: findings.measured[benchmark]["median"] for benchmark in benchmarks
            }
            sns.violinplot(
                times, orient="y", order=list(labels), palette=labels, ax=axes, inner=None, cut=0,
                density_norm="width", log_scale=True, linewidth=0, alpha=0.5, gridsize=60,
                legend=False,
            )  # fmt: skip
            sns.stripplot(
                medians, orient="y", order=list(labels), ax=axes, color=INK, size=3.6,
                jitter=False, edgecolor=PAPER, linewidth=0.5,
            )  # fmt: skip
            milliseconds(axes, "x")
            axes.set_xlabel("ms per mini-batch")
            bare(axes, "x")
        return render(
            drawn,
            name,
            "Distributions",
            "Steady-state mini-batches of all replicates (shapes, of equal width), and the "
            "median of each replicate (dots). The dots are what is compared: how far they "
            "scatter decides how much can be told. Logarithmic axes.",
            "Violin plots of milliseconds per steady-state mini-batch with a dot for the median "
            f"of each replicate, for {panels}.",
        )

"""Steady-state mini-batches of all replicates, and each replicate's median over them."""

import pandas as pd
import seaborn as sns

from analysis.figures.panels import grid, milliseconds, panels
from analysis.figures.style import INK, PAPER, Figure, Look, bare, canvas, render
from analysis.tables import Findings
from analysis.words import title


def distributions(findings: Findings, look: Look, name: str) -> Figure | None:
    found = panels(findings.measured)
    if not found:
        return None
    steady = findings.batches[~findings.batches["warmup"]]
    with canvas(height(found)) as drawn:
        for axes, panel, seats in grid(drawn, found):
            labels = {seat.contender: f"{title(seat.framework)} {seat.variant}" for seat in seats}
            here = steady[
                (steady["workload"] == panel.workload) & steady["contender"].isin(labels)
            ].assign(label=lambda rows, labels=labels: rows["contender"].map(labels))
            axes.set_xscale("log")
            sns.violinplot(
                here, x="ms", y="label", hue="label", order=list(labels.values()), ax=axes,
                palette={labels[s.contender]: look.colour(s.framework) for s in seats},
                inner=None, cut=0, density_norm="width", log_scale=True, linewidth=0, alpha=0.45,
                gridsize=60, legend=False,
            )  # fmt: skip
            medians = pd.concat(
                [
                    findings.measured[s].assign(label=labels[s.contender])[["median", "label"]]
                    for s in seats
                ]
            )
            sns.stripplot(
                medians, x="median", y="label", order=list(labels.values()), ax=axes, color=INK,
                size=4, jitter=False, edgecolor=PAPER, linewidth=0.6,
            )  # fmt: skip
            milliseconds(axes, "x")
            axes.set_xlabel("ms per mini-batch")
            axes.set_ylabel("")
            bare(axes, "x")
        return render(
            drawn,
            name,
            "Distributions",
            "Steady-state mini-batches of all replicates (shapes, of equal width), and the "
            "median of each replicate (dots). The dots are what is compared: how far they "
            "scatter decides how much can be told. Logarithmic axes.",
            "Violin plots of milliseconds per steady-state mini-batch with a dot for the median "
            f"of each replicate, one panel for each of {', '.join(map(str, found))}.",
        )


def height(found: dict[object, list[object]]) -> float:
    """Inches: as many rows of panels as there are, each as high as its contenders need."""
    sizes = [len(seats) for seats in found.values()]
    rows = -(-len(sizes) // 2)
    return min(max(0.5 + rows * (0.9 + 0.32 * max(sizes)), 3.2), 7.2)

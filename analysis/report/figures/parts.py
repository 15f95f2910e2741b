"""How a mini-batch's time divides into data, transfer and step."""

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.data.results import PARTS
from analysis.findings.findings import Findings
from analysis.report.figures.panels import Panels
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas, render

CROWDED = 10  # with more bars than this, numbers do not fit
COLOURS = {"data": "#999999", "transfer": "#E69F00", "step": "#56B4E9"}


def parts(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = Panels(findings.matched)
    if not panels:
        return None
    labels = [named(*contender) for contender in panels.contenders]
    numbers = len(labels) * panels.rows <= CROWDED
    with canvas(panels.height(0.75 + (0.44 if numbers else 0.3) * len(labels), 0.6)) as drawn:
        for axes, _, benchmarks in panels.draw(drawn, labels=True):
            for benchmark in benchmarks:
                rows = findings.measured[benchmark]
                times = [float(rows[f"{part}_ms"].mean()) for part in PARTS]
                stack(axes, labels.index(benchmark.who), times, numbers)
            axes.set_yticks(range(len(labels)), labels)
            axes.set_ylim(len(labels) - 0.35, -0.6)
            axes.set_xlabel("ms per mini-batch")
            bare(axes, "x")
        handles = [Patch(facecolor=COLOURS[part], label=part) for part in PARTS]
        drawn.legend(handles=handles, loc="outside upper center", ncols=3)
        return render(
            drawn,
            name,
            "Where the time goes",
            "Parts of a steady-state mini-batch, means over replicates of each part's median"
            + (", below each bar in milliseconds as data + transfer + step" if numbers else "")
            + ". Data is the harness reading the memory map and is not part of the times compared.",
            f"Stacked bars of milliseconds spent on data, transfer and step, for {panels}. The "
            "numbers are in contenders.csv.",
        )


def stack(axes: Axes, place: int, times: list[float], numbers: bool) -> None:
    """A bar of three parts, with its numbers below if there is room."""
    left = 0.0
    for part, time in zip(PARTS, times, strict=True):
        axes.barh(place - 0.14 * numbers, time, left=left, color=COLOURS[part],
                  height=0.4 if numbers else 0.6, linewidth=0)  # fmt: skip
        left += time
    if not numbers:
        return
    text = " + ".join(f"{time:.2f}" if time < 10 else f"{time:.1f}" for time in times)
    axes.text(0, place + 0.27, f" {text}", va="center", fontsize=8, color=INK)

"""Speed against distance: how much faster a reduced precision is, and how far from float64."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.findings.findings import Findings
from analysis.findings.variants.reduced import ReducedLine
from analysis.format import count, percent
from analysis.report.figures.panels import Panels, fitting, logarithmic, powers, where, who
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas
from analysis.report.prose import share, two

MARKS = {"bfloat16": "o", "tf32": "D"}
AROUND = 1.6  # times the smallest and largest ratio: wide intervals are cut off there
FLOOR = 1e-10  # exact agreement is drawn here


def speed_and_distance(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = {row.id: row for row in findings.reduced if row.estimate.ratio and row.gradients}
    if not rows:
        return None
    panels = Panels(rows)
    ratios = [1.0, *(row.estimate.ratio or 1.0 for row in rows.values())]
    with canvas(panels.height(2.6, 0.9)) as drawn:
        for axes, _, own in panels.draw(drawn, labels=False):
            for one in own:
                draw(axes, rows[one], theme.colour(one.framework))
            axes.axvline(1, color=INK, linewidth=1.1)
            axes.set_xlim(min(ratios) / AROUND, max(ratios) * AROUND)
            logarithmic(axes, "x")
            powers(axes, "y")
            bare(axes)
            axes.set_xlabel("time over that in float32")
            axes.set_ylabel("first gradients' distance")
        drawn.legend(handles=entries(list(rows.values()), theme), loc="outside upper center",
                     ncols=2, labelcolor=INK)  # fmt: skip
        return Figure(
            drawn,
            name,
            "Reduced precision: speed against distance",
            "Each line leads from a framework in float32 to the same framework in a reduced "
            "precision. Across: its time over that in float32, with its "
            f"{percent(findings.machine.study.confidence)} interval. Up: the largest relative "
            "distance of a first gradient from float64. This is not the same precision: no point "
            "ranks a framework.",
            f"Scatter plots of time and distance, for {count(len(rows), 'variant')}.",
            best(list(rows.values())),
        )


def draw(axes: Axes, row: ReducedLine, colour: str) -> None:
    ratio, low, high = row.estimate.ratio or 1.0, *row.estimate.ends[1:]
    before, after = (max(end or 0.0, FLOOR) for end in (row.float32_gradients, row.gradients))
    axes.plot([1.0, ratio], [before, after], color=colour, linewidth=1, linestyle=":")
    axes.plot(1.0, before, ".", color=colour, markersize=5)
    axes.plot(ratio, after, MARKS[row.format], color=colour, markersize=5)
    if low is not None and high is not None:
        axes.plot([low, high], [after, after], color=colour, linewidth=1.1)


def entries(rows: Sequence[ReducedLine], theme: Theme) -> list[Line2D]:
    kinds = {(row.id.framework, row.format): row for row in rows}
    return [
        Line2D([], [], color=theme.colour(row.id.framework), marker=MARKS[row.format],
               linestyle="", markersize=5, label=fitting(who(row.id)))
        for row in kinds.values()
    ]  # fmt: skip


def best(rows: Sequence[ReducedLine]) -> str:
    faster = [row for row in rows if row.estimate.verdict == "faster"]
    if not faster:
        return "No step is significantly faster than in float32."
    most = min(faster, key=lambda row: row.estimate.ratio or 1.0)
    return (
        f"{who(most.id)} gains most, {where(most.id)}: {two(1 / (most.estimate.ratio or 1.0))} "
        f"times as fast as in float32, with first gradients up to {share(most.gradients or 0.0)} "
        "from float64's."
    )

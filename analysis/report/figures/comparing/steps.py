"""What each step of tuning takes off the time of a framework, as a waterfall for each workload."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from analysis.findings.findings import Findings
from analysis.findings.variants.steps import StepLine
from analysis.format import count, percent, title
from analysis.report.figures.panels import first_conditions, fitting
from analysis.report.figures.style import INK, WIDTH, Figure, Theme, bare, canvas
from analysis.report.prose import VARIANTS, two, workload

EACH, AROUND = 0.27, 0.62  # inches: a bar, and what is above and below the bars of a panel
LETTERS = 22  # of a change
THICK = 0.62  # of the distance between bars
DECIDED = ("faster", "slower")

Panels = dict[str, dict[str, list[StepLine]]]  # by framework and workload


def tuning_steps(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = panelled(findings.steps)
    if not panels:
        return None
    workloads = list(dict.fromkeys(found for own in panels.values() for found in own))
    heights = [AROUND + EACH * (2 + longest(own)) for own in panels.values()]
    with canvas(sum(heights), WIDTH * 1.25) as drawn:
        grid = drawn.subplots(
            len(panels), len(workloads), squeeze=False, sharex="col", sharey="row",
            height_ratios=heights,
        )  # fmt: skip
        for axes_row, (framework, own) in zip(grid, panels.items(), strict=True):
            for axes, found in zip(axes_row, workloads, strict=True):
                bare(axes, "x")
                axes.set_title(f"{title(framework)}, {fitting(workload(found))}")
                if rows := own.get(found):
                    waterfall(axes, rows, theme.colour(framework))
            axes_row[0].invert_yaxis()
        for axes in grid[-1]:
            axes.set_xlabel("ms per mini-batch")
            axes.set_xlim(0, axes.get_xlim()[1] * 1.12)
        where = next(iter(next(iter(panels.values())).values()))[0].id
        return Figure(
            drawn,
            name,
            "What tuning is made of",
            f"From the tutorials' code (top) to tuned (bottom), one change at a time, with "
            f"{count(where.threads, 'thread')}. Each number is the time over that before the "
            f"change, each line its {percent(findings.machine.study.confidence)} interval. "
            "Pale: no significant difference.",
            f"Waterfalls of the time per mini-batch, for {count(len(panels), 'framework')}.",
            largest(panels),
        )


def panelled(lines: Sequence[StepLine]) -> Panels:
    panels: Panels = {}
    for line in first_conditions([line for line in lines if line.start_ms is not None]):
        panels.setdefault(line.id.framework, {}).setdefault(line.id.workload, []).append(line)
    return panels


def longest(own: dict[str, list[StepLine]]) -> int:
    return max(len(rows) for rows in own.values())


def waterfall(axes: Axes, rows: Sequence[StepLine], colour: str) -> None:
    labels = [VARIANTS["default"]]
    start = rows[0].start_ms or 0.0
    axes.barh(0, start, THICK, color=colour, alpha=0.35)
    axes.annotate(two(start), (start, 0), xytext=(3, 0), textcoords="offset points", va="center")
    level: float | None = start
    for height, row in enumerate(rows, 1):
        labels.append(fitting(row.change, LETTERS))
        level = row.level_ms
        ratio, low, high = row.estimate.ends
        if row.start_ms is None or level is None or ratio is None:
            axes.annotate("no ratio", (0, height), xytext=(3, 0), textcoords="offset points",
                          va="center")  # fmt: skip
            continue
        left, right = sorted((row.start_ms, level))
        solid = row.estimate.verdict in DECIDED
        axes.barh(height, right - left, THICK, left=left, color=colour, alpha=1 if solid else 0.3)
        if low is not None and high is not None:
            right = max(right, row.start_ms * high)
            axes.plot([row.start_ms * low, row.start_ms * high], [height, height], color=INK,
                      linewidth=1.1)  # fmt: skip
        axes.annotate(f"\u00d7{ratio:.2f}", (right, height), xytext=(3, 0),
                      textcoords="offset points", va="center")  # fmt: skip
    if level is not None:
        labels.append(VARIANTS["tuned"])
        axes.barh(len(rows) + 1, level, THICK, color=colour, alpha=0.35)
        axes.annotate(two(level), (level, len(rows) + 1), xytext=(3, 0),
                      textcoords="offset points", va="center")  # fmt: skip
    axes.set_yticks(range(len(labels)), labels)


def largest(panels: Panels) -> str:
    rows = [
        row
        for own in panels.values()
        for rows in own.values()
        for row in rows
        if row.estimate.verdict == "faster"
    ]
    if not rows:
        return "No change gains anything significant."
    best = min(rows, key=lambda row: row.estimate.ratio or 1.0)
    gain = percent(float(f"{1 - (best.estimate.ratio or 1.0):.2g}"))
    return (
        f"\u201c{best.change}\u201d gains most: {gain} of the step of "
        f"{title(best.id.framework)} on the {workload(best.id.workload)}."
    )

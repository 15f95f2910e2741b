"""The shares of a step: forward pass, gradients and update, a stacked bar for each framework."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.findings.findings import Findings
from analysis.findings.variants.parts import PartLine
from analysis.format import count, percent, title
from analysis.report.figures.panels import above, first_conditions, fitting
from analysis.report.figures.style import INK, WIDTH, Figure, Theme, bare, canvas
from analysis.report.prose import spread, workload

ROW, AROUND = 0.27, 1.2  # inches
THICK = 0.62  # of the distance between bars
PALE = {"forward": 1.0, "gradients": 0.55, "update": 0.22}  # opacity


def shares_of_steps(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = first_conditions([row for row in findings.parts if row.forward.value is not None])
    if not rows:
        return None
    workloads = list(dict.fromkeys(row.id.workload for row in rows))
    where = rows[0].id.on
    with canvas(AROUND + ROW * (len(rows) + len(workloads)), WIDTH) as drawn:
        axes = drawn.add_subplot()
        place, labels = 0, {}
        for heading in workloads:
            above(axes, place + 0.1, fitting(workload(heading)), fontweight="bold")
            for row in rows:
                if row.id.workload == heading:
                    place += 1
                    labels[place] = title(row.id.framework)
                    bar(axes, row, place, theme.colour(row.id.framework))
            place += 1
        axes.set_yticks(list(labels), list(labels.values()))
        axes.set_ylim(place - 0.4, -0.6)
        axes.set_xlim(0, max(map(reach, rows)))
        axes.axvline(1, color=INK, linewidth=1.1)
        axes.set_xlabel("share of the whole step")
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        bare(axes, "x")
        drawn.legend(
            handles=[Patch(facecolor=INK, alpha=PALE[part], label=part) for part in PALE],
            loc="outside upper left", ncols=3,
        )  # fmt: skip
        return Figure(
            drawn,
            name,
            "Where a step's time goes",
            f"Shares of the whole step of each framework, {where}. Each line is the "
            f"{percent(findings.machine.study.confidence)} interval of where a part ends. Beyond "
            "100 %, loss and gradients by themselves take longer than the step.",
            f"Stacked bars of the shares of a step, for {count(len(rows), 'step')}.",
            extremes(rows),
        )


def reach(row: PartLine) -> float:
    """Where the axis ends for a row: wide intervals are cut off, so that bars stay readable."""
    longest = max(row.over_step.value or 1.0, row.forward.value or 1.0, 1.0)
    return 1.02 * min(max(row.over_step.high or 1.0, longest), 1.2 * longest)


def bar(axes: Axes, row: PartLine, place: int, colour: str) -> None:
    """If the update's share is negative, it has no bar, and the gradients' ends beyond the step."""
    forward = row.forward.value or 0.0
    gradient = forward + (row.gradient.value or 0.0)
    last = max(forward, gradient)
    ends = (("forward", 0.0, forward), ("gradients", forward, gradient), ("update", last, 1.0))
    for part, left, right in ends:
        if right > left:
            axes.barh(place, right - left, THICK, left=left, color=colour, alpha=PALE[part])
    for _, low, high in (row.forward, row.over_step):
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=INK, linewidth=1.1)


def extremes(rows: Sequence[PartLine]) -> str:
    """How much longer loss and gradients take than the loss, and the largest update."""
    over = [row.over_forward.value for row in rows if row.over_forward.value is not None]
    most = max(rows, key=lambda row: row.update.value or 0.0)
    text = f"Loss and gradients take {spread(min(over), max(over))} times as long as the loss."
    if not (most.update.low and most.update.low > 0):
        return text
    return (
        f"{text} The update's share is largest in {title(most.id.framework)} on the "
        f"{workload(most.id.workload)}, {percent(float(f'{most.update.value:.2g}'))}."
    )

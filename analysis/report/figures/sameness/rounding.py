"""How exact each contender's float32 gradients are, tensor by tensor."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from analysis.data.results import grouped
from analysis.findings.fairness.certificate_steps import GradientLine
from analysis.findings.findings import Findings
from analysis.format import listing, scientific, short
from analysis.report.figures.panels import entries, fitting, powers, where, who
from analysis.report.figures.panels import name as contender
from analysis.report.figures.style import INK, TALLEST, Figure, Theme, bare, canvas
from analysis.report.prose import two, workload

ROW = 0.19  # inches for each tensor
FLOOR = 1e-10  # exact agreement is drawn here


def rounding(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = grouped((line.id.workload, line) for line in findings.gradients if line.tensor)
    if not panels:
        return None
    tensors = [len({line.tensor for line in lines}) for lines in panels.values()]
    contenders = list(
        dict.fromkeys(
            (line.id.framework, line.id.variant) for lines in panels.values() for line in lines
        )
    )
    allowed = max(line.allowed for line in findings.gradients)
    height = min(1.6 + ROW * sum(tensors) + 0.5 * len(panels), max(TALLEST, 0.14 * sum(tensors)))
    with canvas(height) as drawn:
        grid = drawn.subplots(len(panels), squeeze=False, sharex=True, height_ratios=tensors)
        for axes, (at, lines) in zip(grid[:, 0], panels.items(), strict=True):
            draw(axes, lines, contenders, theme, allowed)
            axes.set_title(fitting(workload(at)))
        grid[-1, 0].set_xlabel("relative difference from the float64 gradient")
        powers(grid[-1, 0], "x")
        entries(drawn, grid[0, 0].get_legend_handles_labels()[0], 2)
        return Figure(
            drawn,
            name,
            "Exactness of float32",
            "Each tensor's gradient in the first step, in float32 as timed, against the "
            "reference's in float64: relative difference (L2), a mark for each device and number "
            f"of threads. Dotted: {short(allowed)}, the most without a reduced precision.",
            f"Dot plots of relative differences by tensor: {listing(map(workload, panels))}.",
            furthest([line for lines in panels.values() for line in lines]),
        )


def furthest(lines: Sequence[GradientLine]) -> str:
    """The least exact gradient, and how much room it leaves."""
    worst = max(lines, key=lambda line: line.float32 or 0.0)
    size = worst.float32 or 0.0
    text = f"The least exact gradient, of {worst.tensor} {where(worst.id)} in {who(worst.id)}"
    if size > worst.allowed:
        why = f": {worst.reduced}" if worst.reduced else ""
        most = f"more than the {short(worst.allowed)} allowed{why}"
        return f"{text}, is off by {scientific(size)}, {most}."
    if not size:
        return "All gradients equal the reference's."
    room = two(worst.allowed / size)
    return f"{text}, is off by {scientific(size)}: {room} times less than allowed."


def draw(
    axes: Axes,
    lines: list[GradientLine],
    contenders: list[tuple[str, str]],
    theme: Theme,
    allowed: float,
) -> None:
    tensors = list(dict.fromkeys(line.tensor for line in lines))
    for number, (framework, variant) in enumerate(contenders):
        own = [
            line for line in lines if (line.id.framework, line.id.variant) == (framework, variant)
        ]
        shift = (number - (len(contenders) - 1) / 2) * 0.7 / len(contenders)
        axes.plot(
            [max(line.float32 or 0.0, FLOOR) for line in own],
            [tensors.index(line.tensor) + shift for line in own],
            theme.marker(variant),
            color=theme.colour(framework),
            markersize=4,
            label=fitting(contender(framework, variant)),
        )
    axes.set_xscale("log")
    axes.axvline(allowed, color=INK, linestyle=":", linewidth=1.2)
    axes.set_yticks(range(len(tensors)), [fitting(one) for one in tensors], fontsize=8)
    axes.set_ylim(len(tensors) - 0.4, -0.6)
    bare(axes, "x")

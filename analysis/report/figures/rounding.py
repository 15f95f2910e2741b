"""How exact each contender's float32 gradients are, tensor by tensor."""

from matplotlib.axes import Axes

from analysis.findings.fairness.certificate_steps import GradientLine
from analysis.findings.findings import Findings
from analysis.format import listing, short
from analysis.report.figures.panels import name as contender
from analysis.report.figures.style import INK, TALLEST, Figure, Theme, bare, canvas, render

ROW = 0.2  # inches for each tensor
FLOOR = 1e-10  # exact agreement is drawn here


def rounding(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels: dict[str, list[GradientLine]] = {}
    for line in filter(lambda line: line.tensor, findings.gradients):
        panels.setdefault(line.id.workload, []).append(line)
    if not panels:
        return None
    tensors = [len({line.tensor for line in lines}) for lines in panels.values()]
    contenders = dict.fromkeys(
        (line.id.framework, line.id.variant) for lines in panels.values() for line in lines
    )
    allowed = max(line.allowed for line in findings.gradients)
    height = min(1.6 + ROW * sum(tensors) + 0.5 * len(panels), max(TALLEST, 0.14 * sum(tensors)))
    with canvas(height) as drawn:
        grid = drawn.subplots(len(panels), squeeze=False, sharex=True, height_ratios=tensors)
        for axes, (workload, lines) in zip(grid[:, 0], panels.items(), strict=True):
            draw(axes, lines, list(contenders), theme, allowed)
            axes.set_title(workload)
        grid[-1, 0].set_xlabel("relative difference from the float64 gradient")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside upper center", ncols=2, labelcolor=INK)
        return render(
            drawn,
            name,
            "Exactness of float32",
            "Each tensor's gradient in the first step, in float32 as it is timed, against the "
            "reference's in float64: relative difference (L2), one mark for each device and "
            f"number of threads. Dotted: {short(allowed)}, beyond which a reduced precision must "
            "explain it. A contender that is faster because it is less exact would stand out.",
            f"Relative rounding errors of float32 gradients by tensor for {listing(panels)}; the "
            "numbers are in gradients.csv.",
        )


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
            label=contender(framework, variant),
        )
    axes.set_xscale("log")
    axes.axvline(allowed, color=INK, linestyle=":", linewidth=1.2)
    axes.set_yticks(range(len(tensors)), tensors, fontsize=8.5)
    axes.set_ylim(len(tensors) - 0.4, -0.6)
    bare(axes, "x")

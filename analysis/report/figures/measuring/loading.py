"""How long steps take, and wait, if mini-batches are prepared meanwhile: stacked bars."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.findings.findings import Findings
from analysis.findings.variants.loading import LoadingLine
from analysis.format import listing, percent, title
from analysis.report.figures.panels import Panels, fitting
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas
from analysis.report.prose import spread

LETTERS = 32  # of a label: `TensorFlow, tf.data, 2 workers`
THICK = 0.7  # of the distance between bars
ROW, AROUND = 0.2, 0.75  # inches: a bar, and what is above and below those of a panel
PALE = {"transfer and step": 1.0, "waiting for the loader": 0.4}  # opacity


def loading(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = {row.id: row for row in findings.loading if row.estimate.ratio}
    if not rows:
        return None
    panels = Panels(rows)
    labels = list(dict.fromkeys(map(label, rows.values())))
    with canvas(panels.height(AROUND + ROW * len(labels), 0.6)) as drawn:
        for axes, _, benchmarks in panels.draw(drawn, labels=True):
            for one in benchmarks:
                bar(axes, labels.index(label(rows[one])), rows[one], theme)
            axes.axvline(1, color=INK, linewidth=1.1)
            axes.set_ylim(len(labels) - 0.5, -0.5)
            axes.set_yticks(range(len(labels)), [fitting(text, LETTERS) for text in labels])
            axes.set_xlim(0, max(reach(rows[one]) for one in benchmarks))
            axes.set_xlabel("times as long as without")
            bare(axes, "x")
        drawn.legend(
            handles=[Patch(facecolor=INK, alpha=PALE[part], label=part) for part in PALE],
            loc="outside upper left", ncols=2, labelcolor=INK,
        )  # fmt: skip
        return Figure(
            drawn,
            name,
            "Who prepares mini-batches",
            "A bar is the time of a mini-batch that is prepared during training, over that of one "
            "that was prepared before, in the same process. A line is the "
            f"{percent(findings.machine.study.confidence)} interval of that ratio.",
            f"Stacked bars of step and waiting by loader: {panels}.",
            finding(list(rows.values())),
        )


def label(row: LoadingLine) -> str:
    """`PyTorch, 1 thread`; `PyTorch tuned, inline`; `PyTorch, DataLoader, 2 workers`"""
    own = f" {row.of}" * (row.of != "default")
    return f"{title(row.id.framework)}{own}, {row.words}"


def reach(row: LoadingLine) -> float:
    """Where the axis ends for a row: wide intervals are cut off, so that bars stay readable."""
    ratio, _, high = row.estimate.ends
    longest = max(ratio or 1.0, 1.0)
    return 1.02 * min(max(high or 1.0, longest), 1.2 * longest)


def bar(axes: Axes, height: int, row: LoadingLine, theme: Theme) -> None:
    ratio, low, high = row.estimate.ends
    assert ratio and row.wall.value and row.step.value
    step = ratio * row.step.value / row.wall.value
    ends = (("transfer and step", 0.0, step), ("waiting for the loader", step, ratio))
    for part, left, right in ends:
        axes.barh(height, right - left, THICK, left=left, alpha=PALE[part],
                  color=theme.colour(row.id.framework))  # fmt: skip
    if low is not None and high is not None:
        axes.plot([low, high], [height, height], color=INK, linewidth=1.1)


def finding(rows: Sequence[LoadingLine]) -> str:
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row.by, []).append(row.estimate.ratio or 0.0)
    parts = [f"{spread(min(own), max(own))} ({by})" for by, own in found.items()]
    return f"By loader, a mini-batch takes {listing(parts)} times as long as without preparation."

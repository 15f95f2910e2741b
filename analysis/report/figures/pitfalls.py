"""The cost of each pitfall: time on the left, loss on the right."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from analysis.findings.findings import Findings
from analysis.findings.pitfalls import SAME, PitfallLine, share
from analysis.format import alike, count, device, listing, percent, scientific, title
from analysis.report.figures.ratios import BESIDE, draw_interval, limits
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas, render

WIDTH = 8.4  # inches: two panels and the longest label side by side
ROW, AROUND = 0.25, 1.25
FLOOR, TOP = 1e-16, 1e3  # relative differences outside these limits are drawn at the limit
SIZES = {1: 3.5, 10: 5.5, 100: 7.5}  # size of the dot at that step, in points
NAMES = {1e-16: "1e-16", 1e-12: "1e-12", 1e-8: "1e-8", 1e-4: "0.01 %", 1: "100 %"}


def pitfall_costs(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = [row for row in findings.pitfalls if row.estimate.ratio is not None]
    if not rows:
        return None
    study = findings.machine.study
    labels = places(rows)
    with canvas(AROUND + ROW * len(labels), WIDTH) as drawn:
        time, loss = drawn.subplots(1, 2, sharey=True, width_ratios=(1, 1.05))
        limits(time, rows, study.margin)
        time.axvspan(1 / (1 + study.margin), 1 + study.margin, color=INK, alpha=0.1, linewidth=0)
        time.axvline(1, color=INK, linewidth=1.1)
        differences(loss)
        for place, row in enumerate(labels):
            if isinstance(row, PitfallLine):
                draw_time(time, row, place, theme.colour(row.id.framework))
                draw_loss(loss, row, place, theme.colour(row.id.framework))
        texts = [row.trap if isinstance(row, PitfallLine) else row for row in labels]
        time.set_yticks(range(len(labels)), texts, fontsize=9)
        for row, text in zip(labels, time.get_yticklabels(), strict=True):
            text.set_fontweight("normal" if isinstance(row, PitfallLine) else "bold")
        time.tick_params(axis="y", pad=BESIDE)
        time.set_ylim(len(labels) - 0.4, -0.6)
        for axes, heading in ((time, "What it costs in time"), (loss, "What it does to the loss")):
            axes.set_title(heading)
            bare(axes, "x")
        loss.tick_params(axis="y", labelleft=False)
        time.set_xlabel("time per mini-batch, without the trap = 1")
        loss.set_xlabel("relative difference in float64")
        drawn.legend(handles=dots(), loc="outside lower right", ncols=3)
        return render(
            drawn,
            name,
            "What a trap costs",
            "One trap at a time, beside the same framework without it in the same contests. Left: "
            f"time per mini-batch and its {percent(study.confidence)} interval; the band is "
            f"{percent(study.margin)} either way. Right: relative difference of the float64 "
            f"losses at steps 1, 10 and 100; no difference at all is drawn at {FLOOR:g}, more "
            f"than {TOP:g} at {TOP:g}; beside it the largest of the three, or that all are within "
            f"{SAME:g}. {narrow(findings)}Logarithmic axes.",
            "Dot plots of traps. " + " ".join(map(describe, rows)),
        )


def narrow(findings: Findings) -> str:
    records = findings.machine.records.certificates
    names = sorted({record.workload for record in records if record.narrowed})
    return f"Losses of {listing(names)} are of a narrower copy. " if names else ""


def places(rows: Sequence[PitfallLine]) -> list[PitfallLine | str]:
    """Rows from the top, with a heading above each framework and workload."""
    where = {(row.id.device, row.id.threads) for row in rows}
    found: list[PitfallLine | str] = []
    last = ""
    for row in rows:
        heading = f"{title(row.id.framework)}, {row.id.workload}"
        if len(where) > 1:
            heading += f", {device(row.id.device)}, {count(row.id.threads, 'thread')}"
        if heading != last:
            found.append(heading)
            last = heading
        found.append(row)
    return found


def draw_time(axes: Axes, row: PitfallLine, place: int, colour: str) -> None:
    ratio, low, high = row.estimate.ends
    if low is not None and high is not None:
        draw_interval(axes, low, high, place, colour)
    axes.plot([ratio or math.nan], [place], "o", color=colour, markersize=5.5)
    beside(axes, place, f"{ratio:.2f}")


def draw_loss(axes: Axes, row: PitfallLine, place: int, colour: str) -> None:
    """A joined dot for each step, larger for later steps."""
    shown = [min(max(loss, FLOOR), TOP) for _, loss in row.losses]
    axes.plot(shown, [place] * len(shown), color=colour, linewidth=1.1, alpha=0.6)
    for (step, _), at in zip(row.losses, shown, strict=True):
        axes.plot([at], [place], "o", color=colour, markersize=SIZES[step], clip_on=False,
                  markeredgecolor=PAPER, markeredgewidth=0.7,
                  zorder=4 - math.log10(step) / 3)  # fmt: skip
    if row.losses:
        beside(axes, place, share(row.worst_loss) if row.worst_loss > SAME else "same")


def beside(axes: Axes, place: int, text: str) -> None:
    """A number to the right of its row, outside the axes."""
    across = blended_transform_factory(axes.transAxes, axes.transData)
    axes.annotate(text, (1, place), xycoords=across, xytext=(BESIDE, 0), textcoords="offset points",
                  va="center_baseline", fontsize=8.5)  # fmt: skip


def differences(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(FLOOR / 2, TOP * 2)
    axes.xaxis.set_major_locator(FixedLocator(list(NAMES)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: NAMES.get(value, "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def dots() -> list[Line2D]:
    return [
        Line2D([], [], marker="o", linestyle="", color=INK, markersize=size, label=f"step {step}")
        for step, size in SIZES.items()
    ]


def describe(row: PitfallLine) -> str:
    losses = ", ".join(f"{scientific(loss)} at step {step}" for step, loss in row.losses)
    return (
        f"{title(row.id.framework)}, {row.id.workload}, {row.trap}: "
        f"time {alike(row.estimate.ratio)[0]}"
        f"{losses and ', loss off by ' + losses}."
    )

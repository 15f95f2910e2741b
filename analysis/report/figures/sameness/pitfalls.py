"""The cost of each pitfall: time on the left, loss on the right."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from analysis.findings.findings import Findings
from analysis.findings.variants.pitfalls import SAME, PitfallLine, share
from analysis.format import count, device, listing, percent, short, title
from analysis.report.figures.comparing.ratios import ABOVE, BEHIND, draw_interval, limits
from analysis.report.figures.panels import fitting, than
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas
from analysis.report.prose import two, workload

WIDTH = 4.4  # inches
ROW, AROUND = 0.295, 1.3
LETTERS = 62  # that fit into the width
BESIDE = 6  # points between the axes and the number, enough for an arrowhead
FLOOR, TOP = 1e-16, 1e3  # relative differences outside these limits are drawn at the limit
SIZES = {1: 3.5, 10: 5.5, 100: 7.5}  # size of the dot at that step, in points
NAMES = {1e-16: "1e-16", 1e-8: "1e-8", 1: "100 %"}


def pitfall_costs(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = [row for row in findings.pitfalls if row.estimate.ratio is not None]
    if not rows:
        return None
    study = findings.machine.study
    lines = places(rows)
    with canvas(AROUND + ROW * len(lines), WIDTH) as drawn:
        time, loss = drawn.subplots(1, 2, sharey=True)
        limits(time, rows, study.margin)
        time.axvspan(1 / (1 + study.margin), 1 + study.margin, color=INK, alpha=0.1, linewidth=0)
        time.axvline(1, color=INK, linewidth=1.1)
        differences(loss)
        time.set_ylim(len(lines) - 0.4, -0.9)
        for place, row in enumerate(lines):
            if isinstance(row, PitfallLine):
                label(time, loss, place - ABOVE, fitting(row.pitfall, LETTERS), "normal")
                draw_time(time, row, place, theme.colour(row.id.framework))
                draw_loss(loss, row, place, theme.colour(row.id.framework))
            else:
                label(time, loss, place, fitting(row, LETTERS), "bold")
        for axes, words in ((time, "Cost in time"), (loss, "Effect on the loss")):
            axes.set_title(words)
            axes.set_yticks([])
            bare(axes, "x")
        time.set_xlabel("time, without it = 1")
        loss.set_xlabel("relative difference")
        drawn.legend(handles=dots(), loc="outside lower right", ncols=3)
        return Figure(
            drawn,
            name,
            "What each pitfall costs",
            "Left: time over that of the same framework without the pitfall, with its "
            f"{percent(study.confidence)} interval. Right: relative difference of the float64 "
            f"losses; {short(FLOOR)} stands for none. {narrow(findings)}{hollow(rows)}"
            "Logarithmic axes.",
            "Dot plots of the ratio of times, and of the difference in the loss at steps 1, 10 "
            f"and 100, for {count(len(rows), 'pitfall')}.",
            extremes(rows),
        )


def extremes(rows: Sequence[PitfallLine]) -> str:
    """The pitfalls that cost most time, change the loss most, and report the shortest time."""
    slowest = max(
        (row for row in rows if row.effect), key=lambda row: row.estimate.ratio or 0.0, default=None
    )
    furthest = max(rows, key=lambda row: row.worst_loss)
    parts = []
    if slowest and (ratio := slowest.estimate.ratio or 0.0) > 1:
        parts.append(f"“{slowest.pitfall}” {than(ratio)} {title(slowest.id.framework)} without it")
    if furthest.worst_loss > SAME:
        worst = furthest.worst_loss
        size = f"{two(100 * worst)} %" if worst >= 1e-3 else share(worst)
        parts.append(f"“{furthest.pitfall}” changes the loss most, by {size} within 100 steps")
    if early := [row for row in rows if row.early]:
        least = min(early, key=lambda row: row.estimate.ratio or 1.0)
        shown = f"{two(100 * (least.estimate.ratio or 1.0))} %"
        whose = title(least.id.framework)
        parts.append(f"“{least.pitfall}” reports {shown} of {whose}'s true time")
    if not parts:
        return "No pitfall costs time or changes the loss."
    return f"{listing(parts)}."


def narrow(findings: Findings) -> str:
    records = findings.machine.records.certificates
    names = sorted({workload(record.workload) for record in records if record.narrowed})
    return f"Losses of {listing(names)} are of a narrower copy. " if names else ""


def hollow(rows: Sequence[PitfallLine]) -> str:
    early = any(row.early for row in rows)
    return "Hollow: the reported time over the true one, because work is left out. " * early


def places(rows: Sequence[PitfallLine]) -> list[PitfallLine | str]:
    """Rows from the top, with a heading above each framework and workload."""
    where = {(row.id.device, row.id.threads) for row in rows}
    found: list[PitfallLine | str] = []
    last = ""
    for row in rows:
        heading = f"{title(row.id.framework)}, {workload(row.id.workload)}"
        if len(where) > 1:
            heading += f", {device(row.id.device)}, {count(row.id.threads, 'thread')}"
        if heading != last:
            found.append(heading)
            last = heading
        found.append(row)
    return found


def label(time: Axes, loss: Axes, place: float, text: str, weight: str) -> None:
    """Words above a row, over both panels. The loss panel writes them, because it is drawn last."""
    across = blended_transform_factory(time.transAxes, time.transData)
    written = loss.text(0, place, text, transform=across, va="center", fontsize=8.5,
                        fontweight=weight, bbox=BEHIND)  # fmt: skip
    written.set_in_layout(False)


def draw_time(axes: Axes, row: PitfallLine, place: int, colour: str) -> None:
    ratio, low, high = row.estimate.ends
    if low is not None and high is not None:
        draw_interval(axes, low, high, place, colour)
    inside = PAPER if row.early else colour
    axes.plot(
        [ratio or math.nan], [place], "o", color=colour, markersize=5.5, markerfacecolor=inside
    )
    beside(axes, place, f"{ratio:.2f}" if (ratio or 0.0) >= 0.1 else two(ratio or 0.0))


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

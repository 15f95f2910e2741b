"""The ratios with their intervals, beside equality and the margin."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.pitfalls import PitfallLine
from analysis.format import alike, count, device, listing, percent, title
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas, render

TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0]
TICKS += [3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0]
ROW = 0.31  # inches
BESIDE = 8  # points between the axes and the text, enough for an arrowhead
ELSE = ", its default where no other framework has the variant"
CUT = 2.5  # intervals are drawn this far beyond the outermost ratio


def ratios(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = [row for row in findings.comparisons if row.estimate.ratio is not None]
    if not rows:
        return None
    study = findings.machine.study
    references = listing(title(r) for r in dict.fromkeys(row.reference for row in rows))
    lines = len(rows) + len({row.id.workload for row in rows})
    height = min(max(0.6 + ROW * lines, 2.2), max(5.4, 0.3 * lines))
    with canvas(height) as drawn:
        axes = drawn.add_subplot()
        limits(axes, rows, study.margin)
        axes.axvline(1, color=INK, linewidth=1.1)
        axes.axvspan(1 / (1 + study.margin), 1 + study.margin, color=INK, alpha=0.1, linewidth=0)
        places = draw_rows(axes, rows, theme)
        axes.set_ylim(places + 0.6, -0.5)
        axes.set_xlabel(f"time per mini-batch, {references} = 1 (left of it: faster)")
        bare(axes, "x")
        return render(
            drawn,
            name,
            "Ratios",
            f"Time per mini-batch over that of {references} under the same conditions"
            + ELSE * any(row.id.variant != row.reference_variant for row in rows)
            + f", with its {percent(study.confidence)} interval. The line is equal speed, the band "
            f"{percent(study.margin)} either way, an arrowhead an interval that goes on. "
            "Logarithmic axis.",
            "Forest plot of ratios. " + " ".join(map(describe, rows)),
        )


def draw_rows(axes: Axes, rows: Sequence[Comparison], theme: Theme) -> int:
    """Draw rows from the top, with a heading above each workload and words on both sides of the
    axes, outside the drawing; return the last place."""
    place, workload = -1, None
    labels: dict[int, str] = {}
    headings: list[int] = []
    across = blended_transform_factory(axes.transAxes, axes.transData)
    several = len({row.id.framework for row in rows}) > 1
    devices = len({row.id.device for row in rows}) > 1
    for row in rows:
        place += 1
        if row.id.workload != workload:
            workload = row.id.workload
            labels[place] = workload
            headings.append(place)
            place += 1
        parts = [title(row.id.framework)] * several + [device(row.id.device)] * devices
        labels[place] = ", ".join([*parts, count(row.id.threads, "thread"), row.id.variant])
        ratio, low, high = row.estimate.ends
        result = f"{alike(ratio, low)[0]} {row.estimate.verdict}"
        axes.annotate(result, (1, place), xycoords=across, xytext=(BESIDE, 0),
                      textcoords="offset points", va="center_baseline", fontsize=9)  # fmt: skip
        colour, marker = theme.colour(row.id.framework), theme.marker(row.id.variant)
        if low is not None and high is not None:
            draw_interval(axes, low, high, place, colour)
        axes.plot([ratio or math.nan], [place], marker, color=colour, markersize=6)
    axes.set_yticks(list(labels), list(labels.values()), fontsize=9)
    axes.tick_params(axis="y", pad=BESIDE)
    for number, text in zip(labels, axes.get_yticklabels(), strict=True):
        text.set_fontweight("bold" if number in headings else "normal")
    return place


def draw_interval(axes: Axes, low: float, high: float, place: float, colour: str) -> None:
    """A line, with an arrowhead if it extends beyond the axis."""
    first, last = axes.get_xlim()
    shown = [max(low, first), min(high, last)]
    axes.plot(shown, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
    for end, beyond, head in ((first, low < first, "<"), (last, high > last, ">")):
        if beyond:
            axes.plot([end], [place], head, color=colour, markersize=6, clip_on=False)


def limits(axes: Axes, rows: Sequence[Comparison | PitfallLine], margin: float) -> None:
    """A logarithmic axis with plain numbers, around all ratios and reasonable intervals."""
    ratios = [row.estimate.ratio for row in rows if row.estimate.ratio]
    ratios += [1 / (1 + 2 * margin), 1 + 2 * margin]
    ends = [end for row in rows for end in row.estimate.ends[1:] if end]
    low = max(min([*ratios, *ends]), min(ratios) / CUT) / 1.06
    high = min(max([*ratios, *ends]), max(ratios) * CUT) * 1.06
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    shown = [tick for tick in TICKS if low <= tick <= high]
    room = math.log(high / low) / 9
    kept = [1.0]
    for tick in sorted(shown, key=lambda tick: abs(math.log(tick))):
        if all(abs(math.log(tick / other)) >= room for other in kept):
            kept.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(sorted(kept)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def describe(row: Comparison) -> str:
    ratio, low, high = alike(*row.estimate.ends)
    between = f" ({low} to {high})" if low else ""
    other = f" of {row.against}" * (row.id.variant != row.reference_variant)
    return (
        f"{row.id.workload}, {row.id.on}, {row.id.variant}: "
        f"{title(row.id.framework)} {ratio}{between}{other}, {row.estimate.verdict}."
    )

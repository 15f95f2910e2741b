"""The ratios of pairs of frameworks with their intervals, beside equality and the margin."""

import math
from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from analysis.findings.comparisons import Comparison, PairLine
from analysis.findings.fairness.certificates import declares
from analysis.findings.findings import Findings
from analysis.findings.variants.pitfalls import PitfallLine
from analysis.format import alike, count, device, percent, title
from analysis.report.figures.panels import above, fitting, than, where
from analysis.report.figures.style import INK, PAPER, Figure, Theme, bare, canvas
from analysis.report.prose import DECLARED, variant, workload

TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
TICKS += [1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0]
WIDTH = 3.8  # inches at 96 pixels: a phone of 390 pixels shows it in full size
ROW, AROUND = 0.295, 1.05  # inches for each row, and around them all
ABOVE = 0.46  # of a row, by which its words stand above its interval
LETTERS = 50  # that fit into the width
BEHIND = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}  # words, so that no line shows there
CUT = 2.5  # intervals are drawn this far beyond the outermost ratio


def ratios(findings: Findings, theme: Theme, name: str) -> Figure | None:
    """The pairs with the reference, which the table of comparisons has, too."""
    return forest(findings, theme, name, with_reference(findings) or between(findings))


def all_ratios(findings: Findings, theme: Theme, name: str) -> Figure | None:
    """All pairs, if there are more than `ratios` has."""
    rows, own = between(findings), with_reference(findings)
    return forest(findings, theme, name, rows) if own and len(own) < len(rows) else None


def with_reference(findings: Findings) -> list[PairLine]:
    compared = {frozenset((row.id, row.base)) for row in findings.comparisons}
    return [row for row in between(findings) if frozenset((row.id, row.base)) in compared]


def between(findings: Findings) -> list[PairLine]:
    """The pairs of frameworks in one variant that have a ratio."""
    return [
        row for row in findings.pairs if row.axis == "framework" and row.estimate.ratio is not None
    ]


def forest(findings: Findings, theme: Theme, name: str, rows: Sequence[PairLine]) -> Figure | None:
    if not rows:
        return None
    study = findings.machine.study
    lines = places(rows)
    with canvas(AROUND + ROW * len(lines), WIDTH) as drawn:
        axes = drawn.add_subplot()
        limits(axes, rows, study.margin)
        axes.axvline(1, color=INK, linewidth=1.1)
        axes.axvspan(1 / (1 + study.margin), 1 + study.margin, color=INK, alpha=0.1, linewidth=0)
        axes.set_ylim(len(lines) - 0.4, -0.9)
        draw_rows(axes, lines, theme)
        axes.set_yticks([])
        bare(axes, "x")
        directions(axes)
        marks(drawn, rows)
        return Figure(
            drawn,
            name,
            "Ratios",
            "The first framework's time per mini-batch over the second's, with its "
            f"{percent(study.confidence)} interval. Dark line: equal speed; band: "
            f"{percent(study.margin)} either way. Logarithmic axis."
            + f" Hollow marks and {DECLARED}: the pair differs in a declared way."
            * any(map(hollow, rows)),
            "Forest plot of the ratios, which the table after it has, too.",
            finding(rows),
        )


def places(rows: Sequence[PairLine]) -> list[PairLine | str]:
    """Rows from the top, pair by pair, with a heading above each workload, variant and device."""

    def heading(row: PairLine) -> str:
        parts = [workload(row.id.workload), variant(row.id.variant)]
        return ", ".join(parts + [device(row.id.device)] * (not row.id.on_host))

    found: list[PairLine | str] = []
    order = list(dict.fromkeys(map(heading, rows)))
    for name, group in groupby(sorted(rows, key=lambda r: order.index(heading(r))), heading):
        held = list(group)
        pairs = list(dict.fromkeys(map(sides, held)))
        found += [name, *sorted(held, key=lambda row: pairs.index(sides(row)))]
    return found


def sides(row: PairLine) -> tuple[str, str]:
    return row.id.framework, row.base.framework


def hollow(row: PairLine) -> bool:
    """Whether the pair differs in a declared way."""
    return declares(row.certificate)


def draw_rows(axes: Axes, lines: Sequence[PairLine | str], theme: Theme) -> None:
    """Each row's words stand above its interval: the pair on the left, the ratio and verdict on the
    right."""
    for place, row in enumerate(lines):
        if isinstance(row, str):
            above(axes, place, row, fontweight="bold", bbox=BEHIND)
            continue
        ratio, low, high = row.estimate.ends
        result = f"{alike(ratio, low)[0]} {row.estimate.verdict}"
        pair = f"{title(row.id.framework)} : {title(row.base.framework)}"
        rest = f", {count(row.id.threads, 'thread')}{f' {DECLARED}' * hollow(row)}"
        pair = fitting(pair, LETTERS - len(rest) - len(result)) + rest
        for words, side in ((pair, "left"), (result, "right")):
            above(axes, place - ABOVE, words, side, bbox=BEHIND)
        colour = theme.colour(row.id.framework)
        if low is not None and high is not None:
            draw_interval(axes, low, high, place, colour)
        inside = PAPER if hollow(row) else colour
        axes.plot([ratio or math.nan], [place], theme.marker(row.id.variant), color=colour,
                  markersize=5.5, markerfacecolor=inside, markeredgewidth=1.3)  # fmt: skip


def draw_interval(axes: Axes, low: float, high: float, place: float, colour: str) -> None:
    """A line, with an arrowhead if it extends beyond the axis."""
    first, last = axes.get_xlim()
    shown = [max(low, first), min(high, last)]
    axes.plot(shown, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
    for end, beyond, head in ((first, low < first, "<"), (last, high > last, ">")):
        if beyond:
            axes.plot([end], [place], head, color=colour, markersize=6, clip_on=False)


def directions(axes: Axes) -> None:
    """What left and right mean, below the axis. Filled triangles for play buttons would become
    pictures on some phones."""
    for side, text in (("left", "◂ first is faster"), ("right", "first is slower ▸")):
        axes.annotate(text, (float(side == "right"), 0), xycoords="axes fraction", fontsize=8.5,
                      xytext=(0, -17), textcoords="offset points", ha=side, va="top")  # fmt: skip


def marks(drawn: Canvas, rows: Sequence[PairLine]) -> None:
    """A legend of filled and hollow marks, if there are hollow ones."""
    if not any(map(hollow, rows)):
        return
    handles = [
        Line2D([], [], marker="o", linestyle="", color=INK, markersize=5.5,
               markerfacecolor=inside, label=label)
        for inside, label in ((INK, "the same computation"), (PAPER, f"{DECLARED} declared"))
    ]  # fmt: skip
    drawn.legend(handles=handles, loc="outside upper left", ncols=2, labelcolor=INK,
                 handletextpad=0.1, columnspacing=1, borderaxespad=0.2)  # fmt: skip


def limits(axes: Axes, rows: Sequence[Comparison | PairLine | PitfallLine], margin: float) -> None:
    """A logarithmic axis with plain numbers, around all ratios and reasonable intervals."""
    ratios = [row.estimate.ratio for row in rows if row.estimate.ratio]
    ratios += [1 / (1 + 2 * margin), 1 + 2 * margin]
    ends = [end for row in rows for end in row.estimate.ends[1:] if end]
    low = max(min([*ratios, *ends]), min(ratios) / CUT) / 1.06
    high = min(max([*ratios, *ends]), max(ratios) * CUT) * 1.06
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    shown = [tick for tick in TICKS if low <= tick <= high]
    room = math.log(high / low) / (9 if low > 0.1 else 5)  # 0.05 is a longer label than 0.5
    kept = [1.0]
    for tick in sorted(shown, key=lambda tick: abs(math.log(tick))):
        if all(abs(math.log(tick / other)) >= room for other in kept):
            kept.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(sorted(kept)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def finding(rows: Sequence[PairLine]) -> str:
    decided = [row for row in rows if row.estimate.verdict in ("faster", "slower")]
    if not decided:
        return f"No time differs significantly, in {count(len(rows), 'pair')} of frameworks."
    most = max(decided, key=lambda row: abs(math.log(row.estimate.ratio or 1.0)))
    ratio = most.estimate.ratio or 1.0
    slow, fast = (most.id, most.base) if ratio > 1 else (most.base, most.id)
    mark = DECLARED * hollow(most)
    style = f", {variant(most.id.variant)}" * (len({row.id.variant for row in rows}) > 1)
    text = (
        f"{title(slow.framework)} {than(max(ratio, 1 / ratio))} {title(fast.framework)}{mark} "
        f"{where(most.id)}{style}"
    )
    if len(rows) == 1:
        return f"{text}."
    return f"Times differ in {len(decided)} of {len(rows)} pairs, most here: {text}."

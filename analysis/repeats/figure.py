"""The figure of the page: a line for each comparison, a dot for each study."""

from collections.abc import Sequence

from matplotlib.lines import Line2D

from analysis.data.occasions import Occasion
from analysis.findings.comparisons import Comparison
from analysis.findings.speed.movement import Movement
from analysis.format import count, title
from analysis.repeats.series import Pair, Series
from analysis.report.figures.comparing.ratios import limits
from analysis.report.figures.style import INK, MARKERS, PALETTE, PAPER, SPARE, Figure, bare, canvas

WIDTH = 4.6  # inches: a phone of 390 pixels shows the text at nine tenths of its size
ROW, AROUND = 0.3, 1.3
STRIP = 0.62  # of a row, over which its studies are spread
COLOURS = [*PALETTE.values(), *SPARE]
DARK = (
    "<style>svg{color:#1b1f24;background:#ffffff}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>"
)


def drawing(found: Sequence[Series], starts: dict[Occasion, str]) -> str:
    """An SVG file that follows the reader's light or dark mode. `starts` has the name of each
    occasion."""
    studies = sorted((s for series in found for s in series.studies), key=lambda s: s.number)
    rows = distinct(found)
    colours = {where: COLOURS[n % len(COLOURS)] for n, where in enumerate(starts)}
    machines = list(dict.fromkeys(series.machine for series in found))
    workloads = list(dict.fromkeys(row.id.workload for row in rows))
    lines: list[Movement | str] = []
    for workload in workloads:
        lines += [workload, *(row for row in rows if row.id.workload == workload)]
    estimates = [{(c.id, c.base): c for c in s.findings.comparisons} for s in studies]
    drawn_rows: list[Comparison] = [
        own[row.id, row.base] for row in rows for own in estimates if (row.id, row.base) in own
    ]
    with canvas(AROUND + ROW * len(lines) + 0.17 * len(starts), WIDTH) as drawn:
        axes = drawn.add_subplot()
        limits(axes, [row for row in drawn_rows if row.estimate.ratio], 0.05)
        axes.axvline(1, color=INK, linewidth=1.1)
        for place, line in enumerate(lines):
            if isinstance(line, str):
                continue
            for n, (study, own) in enumerate(zip(studies, estimates, strict=True)):
                comparison = own.get((line.id, line.base))
                ratio, low, high = comparison.estimate.ends if comparison else (None, None, None)
                if not ratio:
                    continue
                y = place + STRIP * (n / max(len(studies) - 1, 1) - 0.5)
                colour = colours[study.occasion]
                if low and high:
                    axes.plot([low, high], [y, y], color=colour, linewidth=0.7, alpha=0.6)
                marker = MARKERS[machines.index(study.machine.name) % len(MARKERS)]
                axes.plot([ratio], [y], marker, color=colour, markersize=2.6)
        axes.set_yticks(range(len(lines)), [label(line) for line in lines], fontsize=9)
        for line, text in zip(lines, axes.get_yticklabels(), strict=True):
            text.set_fontweight("bold" if isinstance(line, str) else "normal")
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_xlabel("ratio of times per mini-batch")
        bare(axes, "x")
        handles = [
            Line2D([], [], color=colours[where], linestyle="", markersize=5, label=name,
                   marker=MARKERS[machines.index(where.machine) % len(MARKERS)])
            for where, name in starts.items()
        ]  # fmt: skip
        drawn.legend(handles=handles, loc="outside upper left", ncols=1, labelcolor=INK)
        svg = Figure(drawn, "repeatability", "", "", "").svg
    svg = svg.replace(INK, "currentColor").replace(PAPER, "none")
    return svg.replace("<defs>", DARK + "<defs>", 1)


def distinct(found: Sequence[Series]) -> list[Movement]:
    """The comparisons of all series, each once."""
    rows: dict[Pair, Movement] = {}
    for series in found:
        for row in series.rows:
            rows.setdefault((row.id, row.base), row)
    return list(rows.values())


def label(line: Movement | str) -> str:
    if isinstance(line, str):
        return line
    one = line.id
    return f"{title(one.framework)} {one.variant}, {count(one.threads, 'thread')}"

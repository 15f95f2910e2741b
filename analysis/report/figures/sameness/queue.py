"""What a clock shows of steps that nobody waits for, by their number since the last fence."""

from collections.abc import Sequence

from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.variants.queue import QueueLine
from analysis.format import count, percent, title
from analysis.report.figures.panels import Panels, curve, legend, logarithmic, where
from analysis.report.figures.style import INK, Figure, Theme, bare, canvas
from analysis.report.prose import share

EACH, AROUND = 2.0, 0.7  # inches: a row of panels, and around them all
LABELS = 5  # on a horizontal axis
ROOM = 2.0  # from the lowest and the highest ratio to the ends of the vertical axis


def queue(findings: Findings, theme: Theme, name: str) -> Figure | None:
    rows = grouped((row.id, row) for row in findings.queue)
    if not rows:
        return None
    panels = Panels(rows)
    with canvas(panels.height(EACH, AROUND)) as drawn:
        shown = []
        for axes, _, benchmarks in panels.draw(drawn, labels=False):
            axes.axhline(1, color=INK, linewidth=1.1)
            for one in benchmarks:
                own = rows[one]
                ends = [row.estimate.ends for row in own]
                curve(axes, [row.steps for row in own], ends, theme.colour(one.framework))
            # A wide interval leaves the panel.
            ratios = [row.estimate.ratio or 1.0 for one in benchmarks for row in rows[one]]
            axes.set_ylim(min(ratios) / ROOM, max(1.0, *ratios) * ROOM)
            steps = [row.steps for row in rows[benchmarks[0]]]
            axes.set_xscale("log")
            axes.set_xlabel("steps since the last fence")
            axes.set_ylabel("reported time, true = 1")
            axes.xaxis.set_major_locator(FixedLocator(steps[:: -(-len(steps) // LABELS)]))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            shown.append(axes)
        panels.align(shown, "y")
        for axes in shown:
            logarithmic(axes, "y")
            bare(axes)
        legend(drawn, list(dict.fromkeys((one.framework, "default") for one in rows)), theme)
        return Figure(
            drawn,
            name,
            "Steps that nobody waits for",
            "The time that a clock shows of the first steps of a turn if nobody waits for them, "
            "over that of the same steps, each of which is waited for. Shaded: the "
            f"{percent(findings.machine.study.confidence)} interval. Dark line: the true time. "
            "Both axes are logarithmic.",
            f"Lines of the reported over the true time by the number of steps: {panels}.",
            finding(list(rows.values())),
        )


def finding(curves: Sequence[Sequence[QueueLine]]) -> str:
    """About the contender and number of steps that a clock surely shows least of."""
    early = [
        (row.estimate.ratio or 1.0, row, rows[-1])
        for rows in curves
        for row in rows
        if (row.estimate.ratio_high or 1.0) < 1
    ]
    if not early:
        return "A clock shows the time of every framework, although nobody waits for its steps."
    ratio, row, last = min(early, key=lambda found: found[0])
    text = (
        f"A clock shows {share(ratio)} of the time of {count(row.steps, 'step')} of "
        f"{title(row.id.framework)} {where(row.id)}"
    )
    if row is last:
        return f"{text}."
    return f"{text}, and {share(last.estimate.ratio or 1.0)} of that of {last.steps}."

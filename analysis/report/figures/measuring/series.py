"""Every mini-batch of one replicate's processes, with warm-up marked."""

from matplotlib.axes import Axes

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.report.figures.panels import Panels, legend, logarithmic, than, where, who
from analysis.report.figures.style import PAPER, Figure, Theme, bare, canvas

POINTS = 400  # of a line: more would not be visible


def series(findings: Findings, theme: Theme, name: str) -> Figure | None:
    panels = Panels(findings.matched)
    if not panels:
        return None
    replicate = fullest(findings)
    chosen = findings.batches[findings.batches["replicate"] == replicate]
    flagged: dict[tuple[str, str], set[int]] = {}
    for turn in findings.turns:
        if turn.reasons and turn.replicate == replicate:
            key = (turn.workload, turn.turn.contender)
            flagged.setdefault(key, set()).add(turn.turn.round)
    firsts: list[tuple[float, BenchmarkId]] = []
    drawn_axes: list[Axes] = []
    every = "Every mini-batch"
    with canvas(panels.height(2.2, 0.8)) as drawn:
        for axes, panel, benchmarks in panels.draw(drawn, labels=False):
            here = chosen[chosen["workload"] == panel.workload].sort_values("step")
            for benchmark in benchmarks:
                rows = here[here["contender"] == benchmark.contender]
                if len(rows) > POINTS:
                    rows = rows.iloc[:: -(-len(rows) // POINTS)]
                    every = "A sample of the mini-batches"
                colour = theme.colour(benchmark.framework)
                axes.plot(rows["step"], rows["ms"], color=colour, linewidth=1.1,
                          linestyle=theme.dashes(benchmark.variant))  # fmt: skip
                warm = rows[rows["warmup"]]
                axes.plot(warm["step"], warm["ms"], "o", color=colour, markersize=3.2,
                          markerfacecolor=PAPER, markeredgewidth=0.9)  # fmt: skip
                hit = rows[
                    rows["round"].isin(flagged.get((panel.workload, benchmark.contender), ()))
                ]
                if len(hit):
                    axes.plot(hit["step"], hit["ms"], "x", color=colour, markersize=4.2,
                              markeredgewidth=0.9)  # fmt: skip
                if len(rows) > len(warm) > 0:
                    median = float(rows["ms"][~rows["warmup"]].median())
                    firsts.append((float(rows["ms"].iloc[0]) / median, benchmark))
            axes.set_yscale("log")
            bare(axes, "y")
            axes.set_xlabel("mini-batch of the process")
            axes.set_ylabel("ms")
            drawn_axes.append(axes)
        panels.align(drawn_axes, "y")
        for axes in drawn_axes:
            logarithmic(axes, "y")
        legend(drawn, panels.contenders, theme)
        return Figure(
            drawn,
            name,
            "Mini-batch by mini-batch",
            f"{every} of replicate {replicate}, transfer and step, in the order they ran. "
            "Open circles do not count: before the rounds, and the first of each turn. "
            + "Crosses: turns flagged for interference. " * bool(flagged)
            + "Logarithmic axes.",
            f"Line plots of milliseconds per mini-batch against its number: {panels}.",
            first_step(firsts),
        )


def first_step(firsts: list[tuple[float, BenchmarkId]]) -> str:
    if not firsts:
        return ""
    ratio, one = max(firsts, key=lambda pair: pair[0])
    if ratio <= 1:
        return "No process's first mini-batch is slower than its steady ones."
    many = ", the most of all" * (len(firsts) > 1)
    return f"The first mini-batch of {who(one)} {where(one)} {than(ratio)} a steady one{many}."


def fullest(findings: Findings) -> int:
    """The replicate with the most contenders; the first if several have the same number."""
    attended = [int(r) for rows in findings.measured.values() for r in rows.index]
    return max(sorted(set(attended)), key=attended.count)
